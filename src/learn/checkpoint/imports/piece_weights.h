// Tensors that other sources hold in parts: flat ranges of elements, or boxes of a shape.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Part of a tensor. Its elements are, in row-major order, those of the box at `offset` of `sizes` in a
// tensor of shape `whole`, which has as many elements as the tensor: its own shape, or {elements}.
struct TensorPiece {
  const WeightSource* source = nullptr;
  std::string name;   // a tensor of the source
  int64_t first = 0;  // its element with which the piece begins
  Shape whole = {}, offset = {}, sizes = {};

  int64_t count() const { return Type{DType::u8, sizes}.count(); }
};

// Elements [begin, begin + count) of a tensor of `elements`.
TensorPiece flat_piece(const WeightSource& source, std::string name, int64_t first,
                       int64_t elements, int64_t begin, int64_t count);

// The first fault of these pieces of a tensor of that shape: each of its elements must be in one of them. ""
// if there is none.
std::string fault_of_pieces(const Shape& shape, const std::vector<TensorPiece>& pieces);

class PieceWeights final : public WeightSource {
 public:
  // Keeps a source alive.
  const WeightSource* hold(std::shared_ptr<const WeightSource> source);
  // Adds a tensor whose pieces have no fault.
  void add_pieces(TensorInfo info, std::vector<TensorPiece> pieces);
  // Adds a whole tensor of a source under another name.
  void add_whole(std::string name, const WeightSource& source, const TensorInfo& tensor);

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override;
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override;

 private:
  std::vector<std::shared_ptr<const WeightSource>> sources_;
  std::vector<std::vector<TensorPiece>> pieces_;  // by tensor
};

}  // namespace hone
