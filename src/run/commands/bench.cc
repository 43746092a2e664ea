// hone bench step: seconds of whole training steps on this machine, for comparisons with other
// programs.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/core/log.h"
#include "base/core/process.h"
#include "engine/backends/cpu/backend.h"
#include "learn/data/files.h"
#include "learn/train/update.h"
#include "run/commands/command.h"
#include "run/commands/training.h"

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

void print_profile(const std::vector<NodeTime>& times) {
  struct Sum {
    double seconds = 0, flops = 0, bytes = 0;
  };
  std::map<std::string, Sum> by_op;
  double all = 0;
  for (const NodeTime& t : times) {
    Sum& sum = by_op[(t.scope.starts_with("grad:") ? "backward "
                      : t.program == "update"      ? "update   "
                                                   : "forward  ") +
                     t.op];
    sum.seconds += t.seconds;
    sum.flops += t.flops;
    sum.bytes += t.bytes;
    all += t.seconds;
  }
  std::vector<std::pair<std::string, Sum>> rows(by_op.begin(), by_op.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [op, sum] : rows)
    log_info("{:<34} {:8.4f} s {:5.1f} % {:8.1f} GFLOP/s {:7.2f} GB/s", op, sum.seconds,
             100 * sum.seconds / all, sum.flops / sum.seconds / 1e9, sum.bytes / sum.seconds / 1e9);
}

Result<int> run_bench(const std::vector<std::string>& args) {
  BenchSettings s;
  Schema schema("hone bench", "time training steps");
  s.bind(schema);
  schema.positional("what");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  OpenOptions open;
  open.need_tokenizer = false;
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  if (!s.dropout)
    for (const char* key : {"resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout"})
      model.config.config[key] = 0.0;
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());
  auto backend = make_cpu_backend(pool.size());
  ClmSettings run;
  run.weight_decay = 0.01;
  run.per_device_train_batch_size = s.batch;
  Session session = HONE_TRY(Session::compile(
      HONE_TRY(clm_programs(run, model.config, block_shapes(run, s.block, s.batch, true, false))),
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
  fill_micro_batch(rows, places, plan.batches[0], grid, batch);
  const size_t train = 0, update = session.program_index("update");
  OrderedJson j;
  std::vector<double> seconds, losses;
  std::vector<NodeTime> times;
  for (int64_t step = 0; step < s.steps; ++step) {
    if (s.profile && step == 1) session.profile_into(&times);
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
  if (s.profile) print_profile(times);
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
  // Largest products of the step, so that the peak is that of this program's own kernels.
  Program probe(op_table(), "probe");
  Builder b(probe);
  ValueId x = probe.add_input("x", {DType::f32, {2048, 2048}});
  probe.outputs.push_back({"y", ops::matmul(b, x, x)});
  std::vector<Program> one;
  one.push_back(std::move(probe));
  Session peak = HONE_TRY(Session::compile(std::move(one), *backend, pool));
  HONE_TRY(peak.allocate());
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    const double start = now();
    peak.run(0);
    best = std::max(best, 2.0 * 2048 * 2048 * 2048 / (now() - start));
  }
  j["matmul_gflops"] = best / 1e9;
  if (s.json) print_out(dump_json(j) + "\n");
  return kExitDone;
}

}  // namespace

Command command_bench() {
  return {.name = "bench", .summary = "time training steps on this machine", .run = run_bench};
}

}  // namespace hone
