// The objects of a model in a bucket, as they were when it was registered: every machine with the
// registry loads these and no others.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

// [{"file", "bytes", "version", "crc32c", "md5"}] of the files of a model, as the store reports them;
// members that the store lacks are left out. Empty if `source` is not in a bucket. Errors: those of
// the store.
Result<OrderedJson> pin_files(const std::string& source, const std::vector<std::string>& files);

// Asks the store, without reading the files. H3145: an object is missing, or its content has changed
// since the version was registered. Errors: those of the store.
Status check_pinned(const ModelVersion& version);

// H3145 if a file of the folder differs from the file of this name below `url`.
Status check_published(const std::string& folder, const std::string& url,
                       const std::vector<std::string>& files);

}  // namespace hone
