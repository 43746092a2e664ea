// Weights that torch.save wrote: pytorch_model.bin, .pt, .pth. Code in the file is never run.
// Format and rules: docs/formats/torch.md.
#pragma once

#include <memory>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A name that torch.save's files have: .bin, .pt, .pth, .ckpt.
bool is_torch_file_name(const std::string& path);

// The tensors of a dict by name. The dict may also be an entry 'state_dict', 'model_state_dict',
// 'model' or 'module' of the file's dict. Values that are not tensors are left out. Contiguous
// tensors are read directly from their place in the file; views with other strides are copied into
// contiguous tensors. Errors: H2207 the file is damaged or has another form; H2703 an object of a
// class that is not a tensor; H2701 to H2704: see Pickle::read.
Result<std::unique_ptr<WeightSource>> open_torch(std::unique_ptr<ByteFile> file);
Result<std::unique_ptr<WeightSource>> open_torch(const std::string& path,
                                                 Store& store = file_store());
// pytorch_model.bin.index.json and its shards in the same folder. H2204: the index and the shards
// do not fit together.
Result<std::unique_ptr<WeightSource>> open_torch_index(const std::string& path,
                                                       Store& store = file_store());

}  // namespace hone
