// Reads the file .metadata of torch.distributed.checkpoint: the tensors that a checkpoint holds, and the places of
// their chunks in its files. The file is a pickle; code in it is never run. docs/formats/imports.md describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "engine/graph/type.h"

namespace hone {

// A part of a file in the folder: the bytes [offset, offset + bytes).
struct DcpPlace {
  std::string file;  // name without a folder
  int64_t offset = 0, bytes = 0;
};

// A box of a tensor: along axis i it has sizes[i] elements, from index offset[i] on.
struct DcpChunk {
  Shape offset, sizes;
  DcpPlace place;  // holds the box as a tensor that torch.save wrote
};

struct DcpEntry {
  std::string key;                // "model.transformer.wte.weight"
  std::vector<std::string> path;  // the keys of nested dicts: {"model", "transformer.wte.weight"}
};

struct DcpTensor : DcpEntry {
  Type type;
  std::vector<DcpChunk> chunks;
};

// An object that is not a tensor.
struct DcpValue : DcpEntry {
  DcpPlace place;  // holds the object as torch.save wrote it
};

struct DcpMetadata {
  std::vector<DcpTensor> tensors;  // in the order of the pickle
  std::vector<DcpValue> values;
};

// Parses the contents of .metadata. `name`: the file, for messages. Checks that chunks are within their tensor, not
// that they cover each element once. H2214: an entry is missing or impossible. H2215: chunks are compressed, or hone
// does not have the element type. H2703: an object of a class that does not belong in this file. H2701 to H2704: see
// Pickle::read.
Result<DcpMetadata> read_dcp_metadata(std::string_view bytes, const std::string& name);

}  // namespace hone
