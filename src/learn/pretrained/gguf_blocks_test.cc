// Weights that stay in the blocks of a GGUF file: the same floats as the file's, and refusals.
#include <gtest/gtest.h>

#include <fstream>

#include "engine/backends/reference/reference.h"
#include "engine/ops/block_schemes.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/quantized_state.h"
#include "learn/pretrained/stored.h"

namespace hone {
namespace {

const std::string kGoldens = HONE_SOURCE_DIR "/tests/goldens/checkpoint/";

// A session whose states are the weight's, and whose output is its floats.
Session widening(const ParamSpec& spec) {
  Program p(op_table(), "widen");
  Builder b(p);
  State s;
  s.name = spec.name;
  s.role = Role::param;
  const ValueId payload = p.add_state(std::move(s), kept_states(spec).front().type);
  p.outputs.push_back({"x", ops::dequantize(b, {.scheme = spec.scheme, .payload = payload})});
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  Session made = std::move(Session::compile(std::move(programs), reference_backend()).value());
  EXPECT_TRUE(made.allocate().ok());
  return made;
}

TEST(GgufBlocks, AreTheFloatsOfTheFile) {
  for (const char* file : {"llama", "qwen2", "gpt2"}) {
    const auto weights = std::move(open_gguf_weights(kGoldens + file + ".gguf").value());
    int64_t matrices = 0;
    for (const TensorInfo& t : weights->tensors()) {
      if (t.blocks.empty()) continue;
      SCOPED_TRACE(t.name);
      ++matrices;
      ParamSpec spec{t.name, t.type.shape};
      spec.in_out = is_turned(*gguf_type({.architecture = file})->type->gguf, t.name);
      spec.scheme = t.blocks;
      Session session = widening(spec);
      ASSERT_TRUE(copy_blocks(session, spec, *weights, t).ok());
      std::vector<float> want(static_cast<size_t>(t.type.count()));
      ASSERT_TRUE(weights->read(t.name, DType::f32, std::as_writable_bytes(std::span(want))).ok());
      EXPECT_EQ(weight_values(session, spec), want);
      session.run(0);
      const std::span<const float> made = session.output<float>(0, "x");
      const int64_t rows = block_shape(spec)[0], columns = block_shape(spec)[1];
      for (int64_t i = 0; i < rows * columns; ++i) {
        const int64_t from = spec.in_out ? i % columns * rows + i / columns : i;
        ASSERT_EQ(made[static_cast<size_t>(i)], want[static_cast<size_t>(from)]) << i;
      }
    }
    EXPECT_GT(matrices, 0) << file;
  }
}

// Each format of quants.gguf, whose floats are those of gguf-py (gguf_test.cc), as the engine
// widens it.
TEST(GgufBlocks, EveryFormatHasTheBitsOfGgml) {
  const auto file = open_byte_file(kGoldens + "quants.gguf").value();
  const GgufFile gguf = read_gguf(*file).value();
  int64_t formats = 0;
  for (const GgufTensor& t : gguf.tensors) {
    if (t.format->block == 1) continue;
    ++formats;
    ParamSpec spec{"w", t.shape};
    for (const BlockScheme& s : block_schemes())
      if (ggml_format(s.name) == t.format) spec.scheme = s.name;
    ASSERT_NE(spec.scheme, "") << t.name;
    std::vector<std::byte> raw(static_cast<size_t>(t.bytes));
    ASSERT_TRUE(file->read_at(t.offset, raw).ok());
    std::vector<float> want(512);
    t.format->decode(raw.data(), 512 / t.format->block, want.data());
    Session session = widening(spec);
    session.write_state("w", raw);
    session.run(0);
    const std::span<const float> made = session.output<float>(0, "x");
    EXPECT_EQ(std::vector<float>(made.begin(), made.end()), want) << t.name;
  }
  EXPECT_EQ(formats, 10);
}

TEST(GgufBlocks, StayInMemoryWhereAsked) {
  OpenOptions options;
  options.need_tokenizer = false;
  const std::string file = kGoldens + "llama.gguf";
  const Pretrained wide = std::move(open_pretrained(file, options).value());
  EXPECT_EQ(wide.config.quantization, nullptr);
  options.quantization = as_stored();
  const Pretrained stored = std::move(open_pretrained(file, options).value());
  ASSERT_NE(stored.config.quantization, nullptr);
  // The states take the bytes of the file's matrices.
  for (const ParamSpec& spec : family_of(stored.config).params(stored.config)) {
    const TensorInfo* t = stored.weights->find(spec.name);
    if (t == nullptr || t->blocks.empty()) continue;
    EXPECT_EQ(spec.scheme, t->blocks) << spec.name;
    EXPECT_EQ(kept_states(spec).front().type.bytes(), t->bytes) << spec.name;
  }
}

// An f16 is infinite with five bits of exponent, a bf16 with eight.
TEST(GgufBlocks, NumbersOf16BitsAreCheckedByTheirType) {
  class Numbers final : public WeightSource {
   public:
    Numbers(const std::string& scheme, uint16_t bits) : bits_(bits) {
      add({.name = "w", .type = {DType::f16, {1, 1}}, .bytes = 2, .blocks = scheme});
    }
    Status read_tensor(size_t, DType, std::span<std::byte>) const override { return Ok{}; }
    Status read_blocks_of(size_t, std::string_view, int64_t,
                          std::span<std::byte> out) const override {
      std::memcpy(out.data(), &bits_, sizeof bits_);
      return Ok{};
    }

   private:
    uint16_t bits_;
  };
  const auto read = [](const std::string& scheme, uint16_t bits) {
    ParamSpec spec{"w", {1, 1}};
    spec.scheme = scheme;
    Session session = widening(spec);
    const Numbers source(scheme, bits);
    return copy_blocks(session, spec, source, source.tensors()[0]).ok();
  };
  EXPECT_FALSE(read("f16", 0x7c00));
  EXPECT_TRUE(read("f16", 0x7bff));
  EXPECT_FALSE(read("bf16", 0x7f80));
  EXPECT_TRUE(read("bf16", 0x7f00));
  EXPECT_TRUE(read("bf16", 0x7c00));
}

TEST(GgufBlocks, AScaleThatIsNotFiniteIsRefused) {
  std::ifstream in(kGoldens + "llama.gguf", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto whole = std::move(open_gguf_weights(memory_byte_file("m.gguf", bytes)).value());
  for (const TensorInfo& t : whole->tensors()) {
    if (t.blocks != "q4_1") continue;
    std::string broken = bytes;
    const auto second = static_cast<size_t>(t.offset + 20 + 3);  // the minimum of the second block
    broken[second] = '\x7c';
    const auto weights = std::move(open_gguf_weights(memory_byte_file("m.gguf", broken)).value());
    ParamSpec spec{t.name, t.type.shape};
    spec.scheme = t.blocks;
    Session session = widening(spec);
    const Status read = copy_blocks(session, spec, *weights, *weights->find(t.name));
    ASSERT_FALSE(read.ok());
    EXPECT_STREQ(read.error().code(), err::kWeightNotFinite.id);
    return;
  }
  FAIL() << "no matrix in Q4_1";
}

}  // namespace
}  // namespace hone
