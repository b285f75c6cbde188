# Written by `python -m scripts.stubs`.

from kwire_pipeline.frames import decode_frames as decode_frames
from kwire_pipeline.pipeline import Pipeline as Pipeline
from kwire_pipeline.source.datasource import register as register

__version__: str
