# Written by `python -m kwire.messages.stubs`.

from kwire.spark.datasource import register as register
from kwire.spark.frames import decode_frames as decode_frames
from kwire.spark.pipeline import Pipeline as Pipeline
