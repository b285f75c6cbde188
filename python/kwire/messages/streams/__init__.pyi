# Written by `python -m scripts.stubs`.

from kwire.messages.streams.assignment_info import AssignmentInfo as AssignmentInfo
from kwire.messages.streams.subscription_info_data import SubscriptionInfoData as SubscriptionInfoData
