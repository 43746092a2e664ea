// Logits, loss, every gradient and ten losses of decoders and encoder-decoders that classify sequences
// against Transformers (tests/goldens/heads, made again by tools/golden_heads.py), by the programs of
// the task classification.
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr int64_t kHeadTokens = 64, kHeadRows = 4;

template <class T>
void put_input(Session& s, size_t program, const char* name, std::vector<T> v, size_t size,
               T filler) {
  if (!s.has_input(program, name)) return;
  v.resize(size, filler);
  ASSERT_EQ(s.input_bytes(program, name).size(), v.size() * sizeof(T)) << name;
  std::memcpy(s.input_bytes(program, name).data(), v.data(), v.size() * sizeof(T));
}

class HeadsParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  HeadsParity() : g(open_golden("heads/" + std::get<0>(GetParam()))) {
    const Task task = task_named("classification");
    const BatchShape shape = tokens_shape(kHeadTokens, kHeadRows);
    for (bool accumulate : {false, true}) {
      programs.push_back(
          task.program(g.config, shape, accumulate ? "grad_add" : "grad_first", true));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate), {}).ok());
    }
    programs.push_back(task.program(g.config, shape, "logits", false));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  }
  Session session(const UpdateOptions& update = {}) {
    return make_session(g, std::move(programs), *backend, update);
  }

  // Runs the program on some rows.
  size_t run(Session& s, const std::string& name, const json& rows, const json& labels,
             const std::vector<size_t>& chosen, double scale) const {
    const ModelConfig& c = g.config;
    const bool both = family_of(c).encoder != nullptr;
    const int64_t padding = c.integer("pad_token_id").value();
    std::vector<int32_t> ids, shifted, positions, ends{0}, last, classes;
    std::vector<float> values, weight;
    std::vector<int64_t> samples;
    for (const size_t r : chosen) {
      const auto row = rows[r].get<std::vector<int32_t>>();
      last.push_back(-1);
      for (size_t i = 0; i < row.size(); ++i) {
        if (row[i] != padding) last.back() = static_cast<int32_t>(ids.size());
        ids.push_back(row[i]);
        shifted.push_back(i == 0 ? static_cast<int32_t>(c.decoder_start) : row[i - 1]);
        positions.push_back(static_cast<int32_t>(i));
        samples.push_back(static_cast<int64_t>(r));
      }
      ends.push_back(static_cast<int32_t>(ids.size()));
      weight.push_back(1);
      if (labels[r].is_array())
        for (const json& label : labels[r]) values.push_back(label.get<float>());
      else if (c.labels == 1)
        values.push_back(labels[r]);
      else
        classes.push_back(labels[r]);
    }
    const size_t k = s.program_index(name);
    const auto used = static_cast<int32_t>(ids.size());
    put_input(s, k, "ids", both ? shifted : ids, kHeadTokens, 0);
    put_input(s, k, "encoder_ids", ids, kHeadTokens, 0);
    for (const char* side : {"", "encoder_"}) {
      put_input(s, k, fmt::format("{}positions", side).c_str(), positions, kHeadTokens, 0);
      put_input(s, k, fmt::format("{}cu_seqlens", side).c_str(), ends, kHeadRows + 1, used);
      put_input(s, k, fmt::format("{}sample_ids", side).c_str(), samples, kHeadTokens, int64_t{-1});
    }
    put_input(s, k, "last_rows", last, kHeadRows, -1);
    put_input(s, k, "weight", weight, kHeadRows, 0.0f);
    if (classes.empty())
      put_input(s, k, "labels", values,
                static_cast<size_t>(kHeadRows * (labels[0].is_array() ? c.labels : 1)), 0.0f);
    else
      put_input(s, k, "labels", classes, kHeadRows, -100);
    put_input(s, k, "rng", std::vector<int64_t>{1, 1}, 2, int64_t{0});
    put_input(s, k, "scale", std::vector<float>{static_cast<float>(scale)}, 1, 0.0f);
    s.run(k);
    return k;
  }

  const std::unique_ptr<Backend> backend =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
  Golden g;
  std::vector<Program> programs;
};

TEST_P(HeadsParity, LogitsLossAndEveryGradient) {
  const json &rows = g.facts["sequences"], &labels = g.facts["labels"];
  std::vector<size_t> all(labels.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Session s = session();
  const auto logits = s.output<float>(run(s, "logits", rows, labels, all, 1), "logits");
  for (size_t i : all) {
    const std::vector<float> want = tensor(*g.expected, fmt::format("logits.{}", i));
    EXPECT_LT(departure(logits.subspan(i * want.size(), want.size()), want), 1e-4) << i;
  }
  const size_t k = run(s, "grad_first", rows, labels, all, 1 / static_cast<double>(all.size()));
  EXPECT_NEAR(s.output<float>(k, "loss")[0], g.facts["loss"].get<double>(), 1e-4);
  expect_gradients(s, g);
}

TEST_P(HeadsParity, TenLosses) {
  const json& t = g.facts["train"];
  Session s = session(update_options(train_settings(t["settings"])).value());
  expect_losses(s, t, [&](size_t step, bool first, const std::vector<size_t>& micro) {
    double count = 0;
    for (const json& m : t["micro"][step]) count += static_cast<double>(m.size());
    const size_t k =
        run(s, first ? "grad_first" : "grad_add", t["rows"], t["labels"], micro, 1 / count);
    return static_cast<double>(s.output<float>(k, "loss")[0]);
  });
}

TEST_P(HeadsParity, Decay) {
  std::set<std::string> decayed;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    if (p.decay) decayed.insert(p.name);
  EXPECT_EQ(decayed, g.facts["train"]["decayed"].get<std::set<std::string>>());
}

INSTANTIATE_TEST_SUITE_P(All, HeadsParity,
                         testing::ValuesIn(cases_on_backends(goldens_with("heads", "sequences"),
                                                             {"reference", "cpu", "far"},
                                                             {"llama"})),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
