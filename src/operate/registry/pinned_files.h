// For a model whose files are in a bucket: records the files when the model is registered, and later checks that they
// are unchanged. So every machine that uses the registry loads the files that were registered.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

// Returns the record for ModelVersion::files: a JSON list with an object {"file", "bytes", "version", "crc32c", "md5"}
// for each of `files`, which are names below the URL `source`. The values are the objects' metadata in the bucket.
// Members that the metadata lacks are left out, and so are files that are not in the bucket. An empty list if `source`
// is not a URL of a bucket. Errors: those of the store.
Result<OrderedJson> pin_files(const std::string& source, const std::vector<std::string>& files);

// Compares the files of a version with the record in ModelVersion::files, by the bucket's metadata, without reading the
// files. Does nothing if the version's source is not in a bucket. Errors: H3145 a file is missing, or its content has
// changed since the version was registered; those of the store.
Status check_pinned(const ModelVersion& version);

// Checks that each local file of `folder` has a copy with the same content below `url`, the URL of a bucket. `files`
// are the names of the files, below both. Errors: H3145 a copy is missing or differs; those of the store.
Status check_published(const std::string& folder, const std::string& url,
                       const std::vector<std::string>& files);

}  // namespace hone
