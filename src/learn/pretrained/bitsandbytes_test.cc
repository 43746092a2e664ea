// Checkpoints of bitsandbytes: those that hone reads as they are, and those it refuses.
#include "learn/pretrained/bitsandbytes.h"

#include <gtest/gtest.h>

#include "base/core/dynamic_map.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/models/quantization.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/quantize.h"

namespace hone {
namespace {

// A file with one weight [4,64] in NF4, as its tensors.
class BitsAndBytes : public testing::Test {
 protected:
  template <class T>
  void put(const std::string& name, DType dtype, Shape shape, const std::vector<T>& values) {
    auto& bytes = bytes_[name];
    bytes.resize(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    types_[name] = {dtype, std::move(shape)};
  }
  void put_state(const std::string& json, const std::string& kind = "nf4") {
    put("l.weight.quant_state.bitsandbytes__" + kind, DType::u8, {std::ssize(json)},
        std::vector<uint8_t>(json.begin(), json.end()));
  }
  BitsAndBytes() {
    put("l.weight", DType::u8, {128, 1}, payload);
    put("l.weight.absmax", DType::f32, {4}, scales);
    put("l.weight.quant_map", DType::f32, {16},
        std::vector<float>(block_scheme("nf4")->code, block_scheme("nf4")->code + 16));
    put_state(kUsual);
    put("norm", DType::f32, {2}, std::vector<float>{1, 2});
  }

  Result<std::unique_ptr<WeightSource>> open(const std::set<std::string>& turned = {}) {
    std::vector<TensorData> tensors;
    for (const auto& [name, bytes] : bytes_) tensors.push_back({name, types_[name], bytes, {}});
    EXPECT_TRUE(save_safetensors(folder_.path, "model", tensors).ok());
    return read_bitsandbytes(std::move(open_weights(folder_.path).value()), turned);
  }
  void refuses(const std::string& why) {
    const auto weights = open();
    ASSERT_FALSE(weights.ok()) << why;
    EXPECT_STREQ(weights.error().code(), err::kBadQuantState.id);
    EXPECT_NE(weights.error().text().find(why), std::string::npos) << weights.error().text();
  }

  static constexpr const char* kUsual =
      R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [4, 64]})";
  std::vector<uint8_t> payload = [] {
    std::vector<uint8_t> bytes(128);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    return bytes;
  }();
  std::vector<float> scales{1, 0.5, 2, 0.25};
  std::map<std::string, std::vector<std::byte>> bytes_;
  std::map<std::string, Type> types_;

 private:
  TemporaryFolder folder_;
};

TEST_F(BitsAndBytes, FourBitsAreOneWeight) {
  const auto weights = std::move(open().value());
  ASSERT_EQ(weights->tensors().size(), 2u);
  const TensorInfo& t = *weights->find("l.weight");
  EXPECT_EQ(t.type.text(), "f32[4,64]");
  EXPECT_EQ(t.blocks, "nf4");
  EXPECT_FALSE(t.nested);
  std::vector<float> x(256);
  ASSERT_TRUE(weights->read("l.weight", DType::f32, std::as_writable_bytes(std::span(x))).ok());
  EXPECT_EQ(x, widen_matrix(*block_scheme("nf4"), payload, scales, 4, 64));
  std::vector<uint8_t> some(64);
  ASSERT_TRUE(
      weights->read_blocks("l.weight", "", 32, std::as_writable_bytes(std::span(some))).ok());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), payload.begin() + 32));
  std::vector<int32_t> whole(256);
  EXPECT_FALSE(
      weights->read("l.weight", DType::i32, std::as_writable_bytes(std::span(whole))).ok());
}

TEST_F(BitsAndBytes, AFamilyMayKeepItTurned) {
  const auto weights = std::move(open({"l.weight"}).value());
  EXPECT_EQ(weights->find("l.weight")->type.text(), "f32[64,4]");
  std::vector<float> x(256);
  ASSERT_TRUE(weights->read("l.weight", DType::f32, std::as_writable_bytes(std::span(x))).ok());
  EXPECT_EQ(x[1], widen_matrix(*block_scheme("nf4"), payload, scales, 4, 64)[64]);
}

TEST_F(BitsAndBytes, ScalesInEightBits) {
  const std::vector<float> code(dynamic_map(true).begin(), dynamic_map(true).end());
  put("l.weight.absmax", DType::u8, {4}, std::vector<uint8_t>{3, 200, 255, 90});
  put("l.weight.nested_absmax", DType::f32, {1}, std::vector<float>{0.5});
  put("l.weight.nested_quant_map", DType::f32, {256}, code);
  refuses("nested_offset");
  put_state(
      R"({"quant_type": "nf4", "blocksize": 64, "shape": [4, 64], "nested_blocksize": 256, "nested_offset": 0.75})");
  const auto weights = std::move(open().value());
  EXPECT_TRUE(weights->find("l.weight")->nested);
  std::vector<float> x(256), want;
  ASSERT_TRUE(weights->read("l.weight", DType::f32, std::as_writable_bytes(std::span(x))).ok());
  for (const int i : {3, 200, 255, 90}) want.push_back(code[static_cast<size_t>(i)] * 0.5f + 0.75f);
  EXPECT_EQ(x, widen_matrix(*block_scheme("nf4"), payload, want, 4, 64));
  put("l.weight.nested_quant_map", DType::f32, {256}, std::vector<float>(256));
  refuses("another code");
}

TEST_F(BitsAndBytes, EightBitsARow) {
  put("m.weight", DType::i8, {2, 3}, std::vector<int8_t>{127, -64, 0, 1, 2, -127});
  put("m.SCB", DType::f32, {2}, std::vector<float>{1, 2});
  put("m.weight_format", DType::u8, {}, std::vector<uint8_t>{0});
  const auto weights = std::move(open().value());
  ASSERT_EQ(weights->tensors().size(), 3u);
  EXPECT_EQ(weights->find("m.weight")->blocks, "int8");
  std::vector<float> x(6);
  ASSERT_TRUE(weights->read("m.weight", DType::f32, std::as_writable_bytes(std::span(x))).ok());
  EXPECT_FLOAT_EQ(x[0], 1);
  EXPECT_FLOAT_EQ(x[5], -2);
  put("m.weight_format", DType::u8, {}, std::vector<uint8_t>{1});
  refuses("one kind of GPU");
}

TEST_F(BitsAndBytes, OtherBlocksAreFloatsOnly) {
  put_state(R"({"quant_type": "nf4", "blocksize": 128, "shape": [4, 64]})");
  put("l.weight.absmax", DType::f32, {2}, std::vector<float>{1, 2});
  const auto weights = std::move(open().value());
  EXPECT_EQ(weights->find("l.weight")->blocks, "");
  std::vector<float> x(256), each{1, 1, 2, 2};
  ASSERT_TRUE(weights->read("l.weight", DType::f32, std::as_writable_bytes(std::span(x))).ok());
  EXPECT_EQ(x, widen_matrix(*block_scheme("nf4"), payload, each, 4, 64));
}

TEST_F(BitsAndBytes, RefusesWhatDoesNotFit) {
  put_state("[1]");
  refuses("not a JSON object");
  put_state(R"({"blocksize": 64})");
  refuses("shape");
  put_state(R"({"blocksize": 64, "shape": [4, 4611686018427387904]})");
  refuses("shape");
  put_state(R"({"blocksize": 64, "shape": [4, 32]})");
  refuses("is not 64 bytes");
  put_state(R"({"blocksize": 0, "shape": [4, 64]})");
  refuses("blocks of 0");
  put_state(kUsual);
  put("l.weight.absmax", DType::f32, {3}, std::vector<float>{1, 2, 3});
  refuses("with 4 floats");
  bytes_.erase("l.weight.absmax");
  refuses("lacks the tensor 'l.weight.absmax'");
}

// Every weight of what Transformers saved, as bitsandbytes widens it.
TEST(SavedModels, HaveTheValuesOfBitsAndBytes) {
  const std::string goldens = HONE_SOURCE_DIR "/tests/goldens/bitsandbytes/";
  for (const char* name : {"llama_nf4", "gpt2_fp4", "llama_int8"}) {
    SCOPED_TRACE(name);
    const auto saved =
        std::move(read_bitsandbytes(std::move(open_weights(goldens + name).value()), {}).value());
    const auto golden = std::move(open_weights(goldens + name + "/golden.safetensors").value());
    EXPECT_GT(golden->tensors().size(), 7u);
    for (const TensorInfo& t : golden->tensors()) {
      const TensorInfo* ours = saved->find(t.name);
      ASSERT_NE(ours, nullptr) << t.name;
      ASSERT_EQ(ours->type.text(), t.type.text());
      EXPECT_NE(ours->blocks, "") << t.name;
      std::vector<float> x(static_cast<size_t>(t.type.count())), want(x.size());
      ASSERT_TRUE(saved->read(t.name, DType::f32, std::as_writable_bytes(std::span(x))).ok());
      ASSERT_TRUE(golden->read(t.name, DType::f32, std::as_writable_bytes(std::span(want))).ok());
      EXPECT_EQ(x, want) << t.name;
    }
  }
}

TEST(QuantizationConfig, SaysHowTheModelIsKept) {
  const auto read = [](const char* text) {
    ModelConfig config;
    config.config = Json::parse(text);
    return quantization_of_config(config);
  };
  EXPECT_EQ(read("{}").value(), nullptr);
  EXPECT_EQ(read(R"({"quantization_config": {"quant_method": "bitsandbytes"}})").value(), nullptr);
  const auto four =
      read(R"({"quantization_config": {"load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
      "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules": ["lm_head"], "quant_method": "bitsandbytes"}})")
          .value();
  EXPECT_EQ(four->scheme, "nf4");
  EXPECT_TRUE(four->nested);
  EXPECT_EQ(four->skipped, std::vector<std::string>{"lm_head"});
  EXPECT_EQ(read(R"({"quantization_config": {"load_in_8bit": true}})").value()->scheme, "int8");
  EXPECT_STREQ(read(R"({"quantization_config": {"quant_method": "gptq"}})").error().code(),
               "H2285");
}

}  // namespace
}  // namespace hone
