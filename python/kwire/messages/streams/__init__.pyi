# Written by `python -m kwire.messages.stubs`.

from kwire.messages.streams.assignment_info import AssignmentInfo as AssignmentInfo
from kwire.messages.streams.subscription_info_data import SubscriptionInfoData as SubscriptionInfoData
