// The file .metadata of torch.distributed.checkpoint: which tensors a checkpoint holds, and where their chunks
// are. It is a pickle; nothing in it runs. docs/formats/imports.md has the form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "engine/graph/type.h"

namespace hone {

// Bytes of a file in the folder.
struct DcpPlace {
  std::string file;  // a plain name
  int64_t offset = 0, bytes = 0;
};

struct DcpChunk {
  Shape offset, sizes;  // a box of the tensor
  DcpPlace place;       // a tensor as torch.save writes it
};

struct DcpEntry {
  std::string key;                // "model.transformer.wte.weight"
  std::vector<std::string> path;  // the keys of nested dicts: {"model", "transformer.wte.weight"}
};

struct DcpTensor : DcpEntry {
  Type type;
  std::vector<DcpChunk> chunks;
};

struct DcpValue : DcpEntry {
  DcpPlace place;  // any other object, as torch.save writes it
};

struct DcpMetadata {
  std::vector<DcpTensor> tensors;  // in the order of the pickle
  std::vector<DcpValue> values;
};

// H2214: an entry is missing or impossible; H2215: compressed chunks, an element type that hone does not
// have; H2703 a class that does not belong there; H2701 to H2704: see Pickle::read. Chunks are within their
// tensor; whether they hold each element once is not checked. `name` is for messages.
Result<DcpMetadata> read_dcp_metadata(std::string_view bytes, const std::string& name);

}  // namespace hone
