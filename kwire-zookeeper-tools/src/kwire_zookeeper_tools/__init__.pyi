# Written by `python -m scripts.stubs`.

from kwire_admin.operations.declaration import ANYWHERE as ANYWHERE
from kwire_admin.operations.declaration import CLIENT as CLIENT
from kwire_admin.operations.declaration import NODE as NODE
from kwire_admin.operations.declaration import Need as Need
from kwire_admin.operations.declaration import ToolFailed as ToolFailed
from kwire_admin.operations.declaration import operation as operation
from kwire_admin.operations.parameters import Address as Address
from kwire_admin.operations.parameters import Argument as Argument
from kwire_admin.operations.parameters import FileNames as FileNames
from kwire_admin.operations.parameters import InvalidArgument as InvalidArgument
from kwire_admin.operations.parameters import Option as Option
from kwire_admin.operations.registry import BrokenTool as BrokenTool
from kwire_admin.operations.registry import find_tool as find_tool
from kwire_admin.operations.registry import find_tools as find_tools
from kwire_admin.operations.registry import tool_names as tool_names
from kwire_zookeeper_tools.tool_run import Environment as Environment
from kwire_zookeeper_tools.tool_run import ToolRun as ToolRun
from kwire_zookeeper_tools.tool_runner import ToolRunResult as ToolRunResult
from kwire_zookeeper_tools.tool_runner import run_tool as run_tool
from kwire_zookeeper_tools.tool_runner import run_tool_words as run_tool_words

__version__: str
