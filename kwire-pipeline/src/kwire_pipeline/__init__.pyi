# Written by `python -m kwire.messages.stubs`.

from kwire_pipeline.frames import decode_frames as decode_frames
from kwire_pipeline.pipeline import Pipeline as Pipeline
from kwire_pipeline.source.datasource import register as register
