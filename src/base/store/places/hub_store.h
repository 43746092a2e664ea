// Repositories of the Hugging Face hub as a Store that is only read, through the hub's cache:
// hf://org/name/file, hf://datasets/org/name@revision/folder/file.
#pragma once

#include "base/store/store.h"

namespace hone {

// A list does not know how long files are: their bytes are -1 there.
Store& hub_store();

}  // namespace hone
