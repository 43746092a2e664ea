// A source of tensors whose elements are in pieces in other sources. A piece is a range of elements, or a box of the
// tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A piece of a tensor: the box of `sizes` elements along each axis, whose first element has the index `offset`.
// `whole` is the shape of the tensor, or {number of its elements} for a range of elements. The piece's elements are in
// row-major order in the tensor `name` of `source`, from its element number `first` on.
struct TensorPiece {
  const WeightSource* source = nullptr;  // must outlive the piece; see PieceWeights::hold()
  std::string name;
  int64_t first = 0;
  Shape whole = {}, offset = {}, sizes = {};

  int64_t count() const { return Type{DType::u8, sizes}.count(); }
};

// The piece with the elements [begin, begin + count) of a tensor that has `elements` elements.
TensorPiece flat_piece(const WeightSource& source, std::string name, int64_t first,
                       int64_t elements, int64_t begin, int64_t count);

// Checks that each element of a tensor of this shape is in exactly one of the pieces. Returns "", or the first fault.
std::string fault_of_pieces(const Shape& shape, const std::vector<TensorPiece>& pieces);

class PieceWeights final : public WeightSource {
 public:
  // Keeps `source` alive as long as this object, and returns it.
  const WeightSource* hold(std::shared_ptr<const WeightSource> source);
  // Adds a tensor. fault_of_pieces() must be "" for the pieces.
  void add_pieces(TensorInfo info, std::vector<TensorPiece> pieces);
  // Adds the tensor `tensor` of `source` under the name `name`.
  void add_whole(std::string name, const WeightSource& source, const TensorInfo& tensor);

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override;
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override;

 private:
  std::vector<std::shared_ptr<const WeightSource>> sources_;
  std::vector<std::vector<TensorPiece>> pieces_;  // pieces_[i] belongs to tensors_[i]
};

}  // namespace hone
