// Traces of tiny models: the gradients are those of Transformers, and fusing hides names, not
// values.
#include "learn/trace/trace.h"

#include <gtest/gtest.h>

#include "base/core/json.h"
#include "engine/backends/backends.h"
#include "engine/backends/reference/reference.h"
#include "learn/tasks/tasks.h"
#include "learn/trace/errors.h"

namespace hone {
namespace {

const std::string kModels = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/";

Task clm() {
  for (const Task& t : all_task())
    if (t.name == "clm") {
      t.settings->do_train = true;
      return t;
    }
  return {};
}

Result<std::vector<TracedTensor>> trace_rows(Pretrained& model,
                                             const std::vector<std::vector<int32_t>>& rows,
                                             const Backend& backend, const TraceOptions& options) {
  TokenRows ids;
  for (const auto& row : rows) ids.add(row);
  const ExampleRows given(std::move(ids));
  return trace_task(clm(), model, &given, backend, options);
}

class TraceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    OpenOptions options;
    options.need_tokenizer = false;
    Result<Pretrained> opened = open_pretrained(kModels + GetParam(), options);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    model_ = std::move(*opened);
    const Json facts = read_json_file(kModels + GetParam() + "/golden.json").value();
    rows_ = facts["sequences"].get<std::vector<std::vector<int32_t>>>();
    loss_ = facts["loss"];
  }
  std::map<std::string, std::vector<float>> traced(const Backend& backend, bool fuse) {
    Result<std::vector<TracedTensor>> t = trace_rows(model_, rows_, backend, {.fuse = fuse});
    EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().text());
    std::map<std::string, std::vector<float>> by_name;
    for (TracedTensor& x : *t) by_name[x.name] = std::move(x.values);
    return by_name;
  }

  Pretrained model_;
  std::vector<std::vector<int32_t>> rows_;
  double loss_ = 0;
};

TEST_P(TraceTest, LossAndNames) {
  const auto plain = traced(reference_backend(), false);
  EXPECT_NEAR(plain.at("loss")[0], loss_, 1e-4);
  const std::string attention =
      GetParam() == "gpt2_tiny" ? "transformer.h.1.attn." : "model.layers.1.self_attn.";
  EXPECT_TRUE(plain.contains("act." + attention + "context"));
  EXPECT_TRUE(
      plain.contains("act." + attention + (GetParam() == "gpt2_tiny" ? "c_attn" : "q_proj")));
  EXPECT_TRUE(plain.contains(GetParam() == "gpt2_tiny" ? "grad.transformer.wpe.weight"
                                                       : "grad.model.norm.weight"));
}

TEST_P(TraceTest, FusedValuesAreThoseOfPlainOnes) {
  const auto plain = traced(reference_backend(), false);
  const auto fused = traced(*open_backend("cpu", {.threads = 1}).value(), true);
  EXPECT_LE(fused.size(), plain.size());
  for (const auto& [name, values] : fused) {
    const auto it = plain.find(name);
    ASSERT_NE(it, plain.end()) << name;
    double most = 1e-4, apart = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(it->second[i])));
      apart = std::max(
          apart, std::abs(static_cast<double>(values[i]) - static_cast<double>(it->second[i])));
    }
    EXPECT_LT(apart / most, 1e-4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TraceTest, testing::Values("gpt2_tiny", "llama_tied_tiny"));

TEST(Trace, RowsThatCannotBeTracedAreRefused) {
  OpenOptions options;
  options.need_tokenizer = false;
  Pretrained model = std::move(open_pretrained(kModels + "gpt2_tiny", options).value());
  const std::vector<std::vector<std::vector<int32_t>>> cases = {
      {{1, 61}}, {{1}, {2}}, {std::vector<int32_t>(65)}};
  for (const auto& rows : cases) {
    const auto traced = trace_rows(model, rows, reference_backend(), {});
    ASSERT_FALSE(traced.ok());
    EXPECT_EQ(traced.error().code(), std::string(err::kTraceRows.id));
  }
}

}  // namespace
}  // namespace hone
