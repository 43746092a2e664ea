// Weights that torch.save wrote: pytorch_model.bin, .pt, .pth. No code of the file ever runs.
// Format and what is accepted: docs/formats/torch.md.
#pragma once

#include <memory>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A name that torch.save's files have: .bin, .pt, .pth, .ckpt.
bool is_torch_file_name(const std::string& path);

// The tensors of a dict by name, also of one under 'state_dict', 'model_state_dict', 'model' or
// 'module'; other values are left out. Contiguous tensors are read straight from their place in the
// file; views with other strides come out contiguous. H2207 names the fault; H2703: a class among
// the weights is not a tensor; H2701 to H2704: see Pickle::read.
Result<std::unique_ptr<WeightSource>> open_torch(std::unique_ptr<ByteFile> file);
Result<std::unique_ptr<WeightSource>> open_torch(const std::string& path,
                                                 Store& store = file_store());
// pytorch_model.bin.index.json and the shards beside it. H2204 when they do not fit.
Result<std::unique_ptr<WeightSource>> open_torch_index(const std::string& path,
                                                       Store& store = file_store());

}  // namespace hone
