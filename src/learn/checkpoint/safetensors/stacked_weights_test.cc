#include "learn/checkpoint/safetensors/stacked_weights.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/store/temporary_folder.h"
#include "learn/checkpoint/safetensors/safetensors.h"

namespace hone {
namespace {

TensorData floats(std::string name, Shape shape, const std::vector<float>& values) {
  return {std::move(name), {DType::f32, std::move(shape)}, std::as_bytes(std::span(values)), {}};
}

std::vector<float> counted(size_t count, float first) {
  std::vector<float> v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}

std::vector<float> values_of(const WeightSource& w, const std::string& name) {
  std::vector<float> v(static_cast<size_t>(w.find(name)->type.count()));
  EXPECT_TRUE(w.read(name, DType::f32, std::as_writable_bytes(std::span(v))).ok());
  return v;
}

std::vector<std::string> names_of(const WeightSource& w) {
  std::vector<std::string> names;
  for (const TensorInfo& t : w.tensors()) names.push_back(t.name);
  return names;
}

class StackedWeights : public testing::Test {
 protected:
  std::unique_ptr<WeightSource> saved(const std::vector<TensorData>& tensors) {
    EXPECT_TRUE(save_safetensors(temporary_.path, "model", tensors).ok());
    return std::move(open_safetensors(temporary_.path + "/model.safetensors").value());
  }
  TemporaryFolder temporary_;
};

TEST_F(StackedWeights, MembersBecomeOneAndAreWrittenOneByOne) {
  const std::vector<float> all = counted(12, 0), other = counted(2, 90);
  const std::vector<TensorData> whole{floats("e.*.w", {3, 2, 2}, all), floats("norm", {2}, other)};
  const std::vector<TensorData> split = split_stacked(whole);
  ASSERT_EQ(split.size(), 4u);
  const auto joined = join_stacked(saved(split), {{"e.*.w"}, {"absent.*.w"}});
  EXPECT_EQ(names_of(*joined), (std::vector<std::string>{"e.*.w", "norm"}));
  EXPECT_EQ(joined->find("e.*.w")->type.text(), "f32[3,2,2]");
  EXPECT_EQ(values_of(*joined, "e.*.w"), all);
  EXPECT_EQ(values_of(*joined, "norm"), other);
  // A part that begins and ends within members.
  std::vector<float> some(7);
  ASSERT_TRUE(
      joined->read_range("e.*.w", DType::f32, 3, std::as_writable_bytes(std::span(some))).ok());
  EXPECT_EQ(some, counted(7, 3));
  // Written again from the source, member by member.
  const std::vector<TensorData> again =
      split_stacked({tensor_of(*joined, "e.*.w", "x.*.w", DType::f32)});
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[2].name, "x.2.w");
  EXPECT_EQ(again[2].type.text(), "f32[2,2]");
  std::vector<float> last;
  ASSERT_TRUE(again[2]
                  .blocks([&](std::span<const std::byte> block) -> Status {
                    const auto* from = reinterpret_cast<const float*>(block.data());
                    last.insert(last.end(), from, from + block.size() / sizeof(float));
                    return Ok{};
                  })
                  .ok());
  EXPECT_EQ(last, counted(4, 8));
}

TEST_F(StackedWeights, PartsOfOneTensorAreTakenOut) {
  const std::vector<float> merged =
      counted(16, 0);  // [2,4,2]: two matrices of two rows of each part
  const auto joined = join_stacked(
      saved({floats("experts.gate_up", {2, 4, 2}, merged)}),
      {{"experts.*.gate", "experts.gate_up", 0, 2}, {"experts.*.up", "experts.gate_up", 1, 2}});
  EXPECT_EQ(names_of(*joined), (std::vector<std::string>{"experts.*.gate", "experts.*.up"}));
  EXPECT_EQ(joined->find("experts.*.up")->type.text(), "f32[2,2,2]");
  EXPECT_EQ(values_of(*joined, "experts.*.gate"), (std::vector<float>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(values_of(*joined, "experts.*.up"), (std::vector<float>{4, 5, 6, 7, 12, 13, 14, 15}));
}

TEST_F(StackedWeights, MembersOfOtherShapesStayAlone) {
  const std::vector<float> a = counted(4, 0), b = counted(6, 4);
  const auto joined =
      join_stacked(saved({floats("e.0.w", {2, 2}, a), floats("e.1.w", {3, 2}, b)}), {{"e.*.w"}});
  // The first alone: the model asks for more, and its shape is refused.
  EXPECT_EQ(joined->find("e.*.w")->type.text(), "f32[1,2,2]");
  EXPECT_NE(joined->find("e.1.w"), nullptr);
}

}  // namespace
}  // namespace hone
