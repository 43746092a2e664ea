// hone bench step: seconds of whole training steps on this machine, for comparisons with other
// programs. hone profile: the same with its table and trace.
#include "run/commands/bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "engine/backends/cpu/backend.h"
#include "engine/session/profile.h"
#include "learn/data/files.h"
#include "learn/tasks/clm.h"
#include "learn/train/update.h"
#include "run/commands/command.h"

namespace hone {
namespace {

struct BenchSettings {
#define HONE_SETTINGS "run/commands/bench.def"
#include "base/settings/fields.inc"
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<std::vector<int32_t>> read_ids(const BenchSettings& s, int64_t vocab) {
  const int64_t count = s.batch * s.block;
  std::vector<int32_t> ids;
  if (s.ids.empty()) {
    for (int64_t i = 0; i < count; ++i)
      ids.push_back(static_cast<int32_t>((i * 7919 + 13) % vocab));
    return ids;
  }
  auto reader = HONE_TRY(open_rows({s.ids}));
  const size_t column = HONE_TRY(text_column(*reader, "ids"));
  Row row;
  while (HONE_TRY(reader->next(row)))
    if (auto* list = std::get_if<std::vector<int64_t>>(&row.cells[column]))
      ids.insert(ids.end(), list->begin(), list->end());
  ids.resize(static_cast<size_t>(count), 0);
  return ids;
}

Result<int> run_bench_command(const std::vector<std::string>& args) {
  return run_bench(args, false);
}

}  // namespace

Result<int> run_bench(const std::vector<std::string>& args, bool as_profile) {
  BenchSettings s;
  Schema schema(as_profile ? "hone profile" : "hone bench",
                as_profile ? "where the time of a training step goes" : "time training steps");
  s.bind(schema);
  schema.positional("what");
  if (as_profile)
    for (auto [name, value] :
         {std::pair{"profile", "true"}, {"trace", "profile.json"}, {"steps", "3"}})
      schema.preset(name, value);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  OpenOptions open;
  open.need_tokenizer = false;
  open.head = Head::causal_lm;
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  if (!s.dropout)
    for (const char* key : {"resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout"})
      model.config.config[key] = 0.0;
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());
  auto backend = make_cpu_backend(pool.size());
  ClmSettings run;
  run.weight_decay = 0.01;
  run.per_device_train_batch_size = s.batch;
  run.bf16 = s.bf16;
  Session session = HONE_TRY(Session::compile(
      HONE_TRY(
          run_programs(run, model.config, shapes_without_data(run, s.block, s.batch, true, false))),
      *backend, pool));
  HONE_TRY(session.allocate());
  HONE_TRY(load_weights(session, model));
  const std::vector<int32_t> ids = HONE_TRY(read_ids(s, model.config.vocab));

  TokenRows rows;
  BatchGrid grid{{s.batch * s.block}, s.batch, s.batch};
  for (int64_t i = 0; i < s.batch; ++i)
    rows.add(
        std::span(ids).subspan(static_cast<size_t>(i * s.block), static_cast<size_t>(s.block)));
  std::vector<int64_t> places, lengths(static_cast<size_t>(s.batch), s.block);
  for (int64_t i = 0; i < s.batch; ++i) places.push_back(i);
  const StepPlan plan = plan_step(lengths, grid);
  MicroBatch batch;
  HONE_TRY(fill_micro_batch(rows, places, plan.batches[0], grid, batch));
  const size_t train = 0, update = session.program_index("update");
  OrderedJson j;
  std::vector<double> seconds, losses;
  const bool profiled = s.profile || !s.trace.empty();
  Profile profile;
  for (int64_t step = 0; step < s.steps; ++step) {
    if (profiled && step == 1) session.profile_into(&profile);
    const double start = now();
    auto put = [&](const char* name, const auto& v) {
      std::memcpy(session.input_bytes(train, name).data(), v.data(), v.size() * sizeof(v[0]));
    };
    put("ids", batch.ids);
    put("labels", batch.labels);
    put("positions", batch.positions);
    put("cu_seqlens", batch.cu_seqlens);
    put("sample_ids", batch.sample_ids);
    put("rng", std::vector<int64_t>{42, step});
    put("scale", std::vector<float>{1.0f / static_cast<float>(plan.label_tokens)});
    session.run(train);
    losses.push_back(static_cast<double>(session.output<float>(train, "loss")[0]));
    session.input<double>(update, "lr")[0] = s.learning_rate;
    session.input<int64_t>(update, "step")[0] = step + 1;
    session.run(update);
    seconds.push_back(now() - start);
    log_info("step {}: {:.3f} s, loss {:.5f}", step + 1, seconds.back(), losses.back());
  }
  session.profile_into(nullptr);
  const MachineLimits limits = HONE_TRY(measure_limits(*backend, pool, s.bf16));
  if (s.profile)
    for (const std::string& line :
         split(profile_table(session, profile, limits, s.steps - 1), '\n'))
      if (!line.empty()) log_info("{}", line);
  if (!s.trace.empty()) {
    HONE_TRY(file_store().write(s.trace, chrome_trace(session, profile)));
    log_info("the trace is in {}; open it in chrome://tracing or ui.perfetto.dev", s.trace);
  }
  double flops = 0;
  for (size_t p : {train, update})
    for (const Node& n : session.programs()[p].nodes)
      if (!(p == train && n.op->name == "attention_grad"))
        flops += cost_of({session.programs()[p], n}).flops;
  j["step_seconds"] = seconds;
  j["loss"] = losses;
  j["tokens_per_step"] = s.batch * s.block;
  j["planned_bytes"] = session.plan().arena_bytes();
  j["peak_rss_bytes"] = read_memory().rss_peak_bytes;
  j["flops_per_step"] = flops;
  j["backend"] = backend->description();
  j["matmul_gflops"] = limits.flops / 1e9;
  j["memory_gbytes"] = limits.bytes / 1e9;
  if (s.json) print_out(dump_json(j) + "\n");
  return kExitDone;
}

Command command_bench() {
  return {
      .name = "bench", .summary = "time training steps on this machine", .run = run_bench_command};
}

}  // namespace hone
