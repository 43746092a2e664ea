// Repositories of the Hugging Face hub as a read-only Store, through the hub's cache:
// hf://org/name/file, hf://datasets/org/name@revision/folder/file.
#pragma once

#include "base/store/store.h"

namespace hone {

// Lists do not give the length of files: their bytes are -1.
Store& hub_store();

}  // namespace hone
