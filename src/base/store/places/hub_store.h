// Repositories of the Hugging Face hub as a read-only Store. Paths are hf://org/name/file for a model and
// hf://datasets/org/name@revision/folder/file for a data set. Files are downloaded into the hub's cache folder.
#pragma once

#include "base/store/store.h"

namespace hone {

// list() does not know the sizes of files: Store::Entry::bytes is -1. Calls that write fail with H0106. Error H0101
// if a repository has no such file. Other errors: those of HubRepository.
Store& hub_store();

}  // namespace hone
