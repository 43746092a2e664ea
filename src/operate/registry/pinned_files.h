// Records the files of a model in a bucket when the model is registered, and later checks that they are unchanged.
// Every machine that uses the registry then loads the registered files.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

// The record for ModelVersion::files: a JSON list with an object {"file", "bytes", "version", "crc32c", "md5"} for each
// of `files`, which are names below the URL `source`. The values are from the store's metadata; members that the store
// does not have, and missing files, are left out. An empty list if `source` is not a URL of a bucket. Errors: those of
// the store.
Result<OrderedJson> pin_files(const std::string& source, const std::vector<std::string>& files);

// Compares the files of a version with its record, by the store's metadata, without reading the files. Does nothing if
// its source is not in a bucket. Errors: H3145 a file is missing, or its content has changed since the version was
// registered; those of the store.
Status check_pinned(const ModelVersion& version);

// Checks that the copies of local files in a bucket have the same content. `files` are names below `folder` and below
// `url`. Errors: H3145 a copy is missing or differs; those of the store.
Status check_published(const std::string& folder, const std::string& url,
                       const std::vector<std::string>& files);

}  // namespace hone
