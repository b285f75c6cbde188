# Written by `python -m scripts.stubs`.

from kwire.messages.transaction_state.transaction_log import TransactionLogKey as TransactionLogKey
from kwire.messages.transaction_state.transaction_log import TransactionLogValue as TransactionLogValue
