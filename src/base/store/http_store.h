// The web as a read-only Store: paths are URLs.
#pragma once

#include "base/store/store.h"

namespace hone {

Store& http_store();

}  // namespace hone
