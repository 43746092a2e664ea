#include "base/core/json.h"
