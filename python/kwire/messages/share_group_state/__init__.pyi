# Written by `python -m scripts.stubs`.

from kwire.messages.share_group_state.share_snapshot import ShareSnapshotKey as ShareSnapshotKey
from kwire.messages.share_group_state.share_snapshot import ShareSnapshotValue as ShareSnapshotValue
from kwire.messages.share_group_state.share_update import ShareUpdateKey as ShareUpdateKey
from kwire.messages.share_group_state.share_update import ShareUpdateValue as ShareUpdateValue
