# Written by `python -m scripts.stubs`.

from kwire.messages.kip584.api_versions import ApiVersionsRequest as ApiVersionsRequest
from kwire.messages.kip584.api_versions import ApiVersionsResponse as ApiVersionsResponse
from kwire.messages.kip584.update_features import UpdateFeaturesRequest as UpdateFeaturesRequest
from kwire.messages.kip584.update_features import UpdateFeaturesResponse as UpdateFeaturesResponse
