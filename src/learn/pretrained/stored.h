// Keeps matrices in memory in the form of their file: quantized blocks of a GGUF file, experts in MXFP4, f16 or bf16.
// A matrix then takes as many bytes in memory as in the file, and generation reads fewer bytes for each token.
#pragma once

#include "engine/passes/store_weights.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// A value for OpenOptions::quantization: matrices of a GGUF file and experts in MXFP4 stay quantized as in the file.
// Models in other formats are opened as if `quantization` were null. Always the same pointer.
std::shared_ptr<const Quantization> as_stored();
bool is_as_stored(const std::shared_ptr<const Quantization>& q);

// The block scheme of each matrix in the model's file (Quantization::of_file); null: no matrix is in blocks. Reads the
// list of tensors in p.weights. If p.weights is null, opens the GGUF file `gguf`; if `gguf` is "" too, derives the
// schemes from the config of a model whose experts are in MXFP4. Errors of open_weights().
Result<std::shared_ptr<const Quantization>> form_in_file(const Pretrained& p,
                                                         const std::string& gguf);

// The smallest storage that keeps the values of all matrices that are not in blocks: bf16 if they are all bf16 in the
// file, else f32.
WeightStorage storage_in_file(const WeightSource& weights);

// The storage that the settings dtype and load_in_8bit ask for (learn/generate/kept_weights.def); none: the form of
// the file.
template <class Settings>
std::optional<WeightStorage> asked_storage(const Settings& s) {
  if (s.load_in_8bit) return WeightStorage::i8;
  if (s.dtype == "bfloat16") return WeightStorage::bf16;
  if (s.dtype == "float32") return WeightStorage::f32;
  return {};
}

}  // namespace hone
