# Written by `python -m kwire.messages.stubs`.

from kwire.messages.transaction_state.transaction_log import TransactionLogKey as TransactionLogKey
from kwire.messages.transaction_state.transaction_log import TransactionLogValue as TransactionLogValue
