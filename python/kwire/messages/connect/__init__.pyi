# Written by `python -m scripts.stubs`.

from kwire.messages.connect.connect_assignment import ConnectAssignment as ConnectAssignment
from kwire.messages.connect.connect_worker_state import ConnectWorkerState as ConnectWorkerState
