// The JSON library's templates that json.h declares.
#include "base/core/json.h"

HONE_JSON_MEMBERS(, nlohmann::json)
HONE_JSON_MEMBERS(, nlohmann::ordered_json)
