// The interface through which all weights are read: tensors by their Hugging Face names, from files of any format.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct TensorInfo {
  std::string name;    // Hugging Face name
  Type type;           // Transformers' shape; element type in the file, f32 for quantized tensors
  std::string file;    // path of the file that holds it
  int64_t offset = 0;  // offset of the tensor's first byte in the file
  int64_t bytes = 0;   // size in the file
  // "": the file has elements of type.dtype. Else the name of the element format in the file: "Q4_1", "U32", "F8_E4M3".
  std::string scheme;
  // For a quantized matrix whose blocks read_blocks() can give: the scheme's name in engine/ops/block_schemes.h; "":
  // there are no blocks to read. `nested`: the scales are quantized to 8 bits (models/quantization.h).
  std::string blocks = {};
  bool nested = false;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of the file
  const TensorInfo* find(std::string_view name) const;                 // nullptr: there is none
  // Reads a whole tensor, row-major, as elements of `as`. `out` must have exactly count() * size_of(as) bytes.
  // Thread-safe. H2205: no tensor has the name; the message proposes the nearest name. H2206: the elements cannot be
  // converted to `as`. H2202: the file cannot be read. Errors of the store.
  Status read(std::string_view name, DType as, std::span<std::byte> out) const;
  // Reads elements first, first + 1, ... of a tensor until `out` is full. Thread-safe. Errors as read().
  Status read_range(std::string_view name, DType as, int64_t first, std::span<std::byte> out) const;
  // Reads bytes of a quantized matrix in the form of TensorInfo::blocks, from byte `first` of a part on, until `out`
  // is full. `part`: "" for the payload, the rows of the matrix [out,in] one after the other; or the name of its
  // scales, such as kScales (models/quantization.h). `first` and `out` must be whole rows of the payload. Errors as
  // read().
  Status read_blocks(std::string_view name, std::string_view part, int64_t first,
                     std::span<std::byte> out) const;
  // Metadata of the files as texts (safetensors: __metadata__).
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 protected:
  // Each function below does the work of its public function for tensors_[index]; names and sizes have been checked.
  virtual Status read_tensor(size_t index, DType as, std::span<std::byte> out) const = 0;
  // By default reads the whole tensor and copies the part. A format that can read a part directly overrides it.
  virtual Status read_elements_of(size_t index, DType as, int64_t first,
                                  std::span<std::byte> out) const;
  // A Bug by default: a source whose tensors have `blocks` must override it.
  virtual Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                                std::span<std::byte> out) const;
  void add(TensorInfo info);  // adds to tensors_; a Bug if the name is already there

  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;

 private:
  Result<size_t> index_of(std::string_view name) const;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace hone
