# Written by `python -m kwire.messages.stubs`.

from kwire.spark.frames import decode_frames as decode_frames
from kwire.spark.pipeline import Pipeline as Pipeline
from kwire.spark.source.datasource import register as register
