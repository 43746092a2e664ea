#include "base/core/json.h"
template class nlohmann::basic_json<>;
