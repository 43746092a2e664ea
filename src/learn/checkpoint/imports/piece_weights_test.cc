#include "learn/checkpoint/imports/piece_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "learn/checkpoint/imports/optimizer_dict.h"

namespace hone {
namespace {

// One tensor "x" of the numbers first, first + 1, ...
class Counting final : public WeightSource {
 public:
  Counting(int64_t first, int64_t count) : first_(first) {
    TensorInfo info;
    info.name = "x";
    info.type = {DType::f32, {count}};
    add(std::move(info));
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return read_elements_of(index, as, 0, out);
  }
  Status read_elements_of(size_t, DType, int64_t first, std::span<std::byte> out) const override {
    for (size_t i = 0; i < out.size() / sizeof(float); ++i) {
      const auto x = static_cast<float>(first_ + first + static_cast<int64_t>(i));
      std::memcpy(out.data() + i * sizeof(float), &x, sizeof x);
    }
    return Ok{};
  }

 private:
  int64_t first_;
};

// A box of a tensor, with the numbers 0, 1, ... in its own order.
TensorPiece box(const WeightSource& source, Shape whole, Shape offset, Shape sizes) {
  return {&source, "x", 0, std::move(whole), std::move(offset), std::move(sizes)};
}

// The value of each element of the tensor: that of its piece's number there, plus 1000 for each piece.
std::vector<float> expected(const Shape& shape, const std::vector<TensorPiece>& pieces) {
  std::vector<float> all(static_cast<size_t>(Type{DType::f32, shape}.count()), -1);
  for (size_t p = 0; p < pieces.size(); ++p) {
    const TensorPiece& piece = pieces[p];
    for (int64_t i = 0; i < piece.count(); ++i) {
      int64_t left = i, at = 0, stride = 1;
      for (size_t d = piece.whole.size(); d-- > 0;) {
        at += (piece.offset[d] + left % piece.sizes[d]) * stride;
        left /= piece.sizes[d];
        stride *= piece.whole[d];
      }
      all[static_cast<size_t>(at)] = static_cast<float>(1000 * static_cast<int64_t>(p) + i);
    }
  }
  return all;
}

TEST(PieceWeights, PutBoxesInTheirPlaces) {
  const std::vector<std::vector<std::pair<Shape, Shape>>> cuts = {
      {{{0, 0, 0}, {4, 6, 5}}},                          // whole
      {{{0, 0, 0}, {3, 6, 5}}, {{3, 0, 0}, {1, 6, 5}}},  // rows
      {{{0, 0, 0}, {4, 2, 5}}, {{0, 2, 0}, {4, 4, 5}}},  // the middle
      {{{0, 0, 0}, {4, 6, 3}}, {{0, 0, 3}, {4, 6, 2}}},  // columns
      {{{0, 0, 0}, {2, 6, 5}},
       {{2, 0, 0}, {2, 3, 4}},
       {{2, 3, 0}, {2, 3, 4}},
       {{2, 0, 4}, {2, 6, 1}}}};
  const Shape shape = {4, 6, 5};
  for (const auto& cut : cuts) {
    PieceWeights weights;
    std::vector<TensorPiece> pieces;
    for (const auto& [offset, sizes] : cut) {
      const auto count = Type{DType::f32, sizes}.count();
      const WeightSource* source = weights.hold(
          std::make_shared<Counting>(1000 * static_cast<int64_t>(pieces.size()), count));
      pieces.push_back(box(*source, shape, offset, sizes));
    }
    ASSERT_EQ(fault_of_pieces(shape, pieces), "");
    TensorInfo info;
    info.name = "t";
    info.type = {DType::f32, shape};
    const std::vector<float> want = expected(shape, pieces);
    weights.add_pieces(info, pieces);
    const auto all = static_cast<int64_t>(want.size());
    for (int64_t first = 0; first < all; first += 7)
      for (int64_t count = 1; count <= all - first; count += 11) {
        std::vector<float> got(static_cast<size_t>(count));
        ASSERT_TRUE(
            weights.read_range("t", DType::f32, first, std::as_writable_bytes(std::span(got)))
                .ok());
        EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin() + first))
            << first << " " << count;
      }
  }
}

TEST(PieceWeights, FindFaults) {
  const Counting source(0, 24);
  const auto fault = [&](std::vector<TensorPiece> pieces) {
    return fault_of_pieces({4, 6}, pieces);
  };
  EXPECT_EQ(fault({box(source, {4, 6}, {0, 0}, {4, 6})}), "");
  EXPECT_NE(fault({box(source, {4, 6}, {0, 0}, {3, 6})}), "");  // a row is missing
  EXPECT_NE(fault({box(source, {4, 6}, {0, 0}, {3, 6}), box(source, {4, 6}, {2, 0}, {1, 6})}), "");
  EXPECT_NE(fault({box(source, {4, 6}, {0, 0}, {4, 3}), box(source, {4, 6}, {0, 2}, {4, 3})}), "");
  EXPECT_NE(fault({box(source, {4, 6}, {1, 0}, {4, 6})}), "");    // beyond its end
  EXPECT_NE(fault({box(source, {6, 4}, {0, 0}, {6, 4})}), "");    // another shape
  EXPECT_NE(fault({flat_piece(source, "x", 1, 24, 0, 24)}), "");  // beyond its source
  EXPECT_NE(fault({flat_piece(source, "y", 0, 24, 0, 24)}), "");  // not in its source
  EXPECT_EQ(fault({flat_piece(source, "x", 0, 24, 5, 19), flat_piece(source, "x", 0, 24, 0, 5)}),
            "");
}

// Groups of an optimizer divide the weights of a module in its order.
TEST(OptimizerDict, NamesNumberedWeightsIfOneDivisionFits) {
  const std::vector<NamedShape> weights = {{"a", {2, 3}}, {"b", {2}}, {"c", {2, 3}}, {"d", {2}}};
  const auto names =
      names_in_groups(weights, {{Shape{2, 3}, Shape{2, 3}}, {Shape{2}, std::nullopt}});
  ASSERT_FALSE(names.has_value());  // a parameter without a state may be any weight
  const auto sure = names_in_groups(weights, {{Shape{2, 3}, Shape{2, 3}}, {Shape{2}, Shape{2}}});
  ASSERT_TRUE(sure.has_value());
  EXPECT_EQ((*sure)[0], (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ((*sure)[1], (std::vector<std::string>{"b", "d"}));
  EXPECT_FALSE(
      names_in_groups(weights, {{Shape{2, 3}, Shape{2}}, {Shape{2, 3}, Shape{2}}}).has_value());
  EXPECT_FALSE(names_in_groups(weights, {{Shape{2, 3}, Shape{2}, Shape{2, 3}}}).has_value());
  EXPECT_TRUE(
      names_in_groups(weights, {{Shape{2, 3}, Shape{2}, Shape{2, 3}, Shape{2}}}).has_value());
}

}  // namespace
}  // namespace hone
