// hone plan --task T: the memory and time of the run that the same flags would start, without its
// weights or data.
#include <chrono>

#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/backends/cpu/backend.h"
#include "engine/backends/null/null.h"
#include "run/commands/command.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct PlanOnly {
#define HONE_SETTINGS "run/commands/eval.def"
#include "base/settings/fields.inc"
};

// FLOP per second of one matrix product on this machine: best of three.
double measure_flops(const Backend& backend, ThreadPool& pool) {
  constexpr int64_t kSize = 512;
  Program p(op_table(), "probe");
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {kSize, kSize}});
  p.outputs.push_back({"y", ops::matmul(b, x, x)});
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  Result<Session> session = Session::compile(std::move(programs), backend, pool);
  if (!session || !session->allocate().ok()) return 0;
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    auto start = std::chrono::steady_clock::now();
    session->run(0);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

double flops_of(const Program& p) {
  double sum = 0;
  for (const Node& n : p.nodes) sum += cost_of({p, n}).flops;
  return sum;
}

// What would make a run fit that does not: a shorter block, or as much memory as it says.
struct Remedy {
  int64_t row_tokens = 0;    // the largest half, quarter, ... with which one row fits; 0: none
  int64_t memory_bytes = 0;  // with one row as long as was asked for
};
// What lives from step to step, and from one micro-batch to the next.
int64_t kept_bytes(const RunPlan& plan) {
  int64_t phase = 0;
  for (const ProgramPlan& p : plan.programs) phase = std::max(phase, p.phase_bytes);
  return plan.state_bytes + phase;
}
Result<Remedy> remedy_for(const TaskSettings& s, const ModelConfig& config, const Backend& backend,
                          ThreadPool& pool, int64_t block, const PairNeeds& pairs, int64_t memory,
                          const Fit& fit) {
  Remedy r;
  r.memory_bytes = fit.plan.arena_bytes() + kRuntimeBudget + stream_bytes(s, block);
  if (kept_bytes(fit.plan) > memory) return r;
  for (int64_t shorter = block / 2; shorter >= 16 && r.row_tokens == 0; shorter /= 2) {
    const Fit one =
        HONE_TRY(fit_run(s, config, backend, pool, 1, memory, [&](int64_t rows, bool whole) {
          return shapes_without_data(s, shorter, rows, whole, s.do_train, s.do_eval, pairs);
        }));
    if (one.rows > 0) r.row_tokens = shorter;
  }
  return r;
}

Result<int> run_plan(const std::vector<std::string>& args) {
  PlanOnly only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone plan",
                            .summary = "exact memory and estimated time of a run, before it starts",
                            .defaults = [](TaskSettings& s) { s.do_train = true; },
                            .more = [&](Schema& schema) { only.bind(schema); }},
                           args));
  if (!chosen->settings) return kExitDone;
  const TaskSettings& s = *chosen->settings;
  bool from_scratch = false;
  const Pretrained model = HONE_TRY(open_for_training(s, from_scratch, false));
  const ModelConfig& config = model.config;
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());
  auto backend = make_cpu_backend(pool.size());
  const int64_t block = s.row_tokens(config), stream = stream_bytes(s, block);
  const int64_t runtime = kRuntimeBudget + stream, memory = memory_for_arenas(s) - stream;
  const int64_t wanted = s.do_train ? s.per_device_train_batch_size : s.per_device_eval_batch_size;
  const PairNeeds pairs = HONE_TRY(pair_needs(s, model));
  auto shapes = [&](int64_t rows, bool whole) {
    return shapes_without_data(s, block, rows, whole, s.do_train, s.do_eval, pairs);
  };
  const Fit fit = HONE_TRY(fit_run(s, config, *backend, pool, wanted, memory, shapes));
  const int64_t rows = std::max<int64_t>(fit.rows, 1);

  double flops = 0;
  for (const Program& p : HONE_TRY(run_programs(s, config, shapes(rows, fit.whole))))
    if (p.name.starts_with("train.") || p.name.starts_with("step."))
      flops = flops_of(p) * static_cast<double>(wanted) / static_cast<double>(rows) *
              static_cast<double>(s.gradient_accumulation_steps);
  const double speed = measure_flops(*backend, pool);
  const int64_t arena = fit.plan.arena_bytes();
  OrderedJson j;
  j["model"] = model.name;
  j["parameters"] = parameter_count(config);
  j["peak_bytes"] = {{"device", arena}, {"host", runtime}};
  j["by_purpose"] = fit.plan.by_purpose();
  j["memory_bytes"] = memory + runtime;
  j["fits"] = fit.rows > 0;
  j[s.row_tokens_flag()] = block;
  j["micro_batch_rows"] = fit.rows;
  j["largest_micro_batch_rows"] = fit.largest;
  j["micro_batches_per_step"] = wanted / rows * s.gradient_accumulation_steps;
  j["flops_per_step"] = flops;
  j["seconds_per_step"] = speed > 0 ? flops / speed : 0.0;
  Remedy remedy;
  if (fit.rows == 0) {
    remedy = HONE_TRY(remedy_for(s, config, *backend, pool, block, pairs, memory, fit));
    j["would_fit"] = {{"memory_bytes", remedy.memory_bytes}};
    if (remedy.row_tokens > 0) j["would_fit"][s.row_tokens_flag()] = remedy.row_tokens;
  }
  if (only.json) {
    print_out(dump_json(j) + "\n");
    return kExitDone;
  }
  std::string text =
      fmt::format("{}: {} parameters, rows of {} tokens, {} rows in a step\n", model.name,
                  parameter_count(config), block, wanted * s.gradient_accumulation_steps);
  for (const auto& [purpose, bytes] : fit.plan.by_purpose())
    if (bytes > 0) text += fmt::format("  {:<16} {:>12}\n", purpose, format_bytes(bytes));
  text += fmt::format("  {:<16} {:>12}\n  {:<16} {:>12}  (budget of code, tokenizer, data)\n",
                      "arena", format_bytes(arena), "runtime", format_bytes(kRuntimeBudget));
  if (stream > 0) text += fmt::format("  {:<16} {:>12}\n", "stream", format_bytes(stream));
  if (fit.rows == 0) {
    text += fmt::format("does not fit: {} may be used, one row needs {}\n",
                        format_bytes(memory + runtime), format_bytes(remedy.memory_bytes));
    text += remedy.row_tokens > 0
                ? fmt::format("  do   --{} {} fits; or use more memory\n", s.row_tokens_flag(),
                              remedy.row_tokens)
                : fmt::format("  do   a smaller model or more memory: {} alone take {}\n",
                              kept_bytes(fit.plan) > fit.plan.state_bytes
                                  ? "weights, gradients and moments"
                                  : "weights and moments",
                              format_bytes(kept_bytes(fit.plan)));
  } else {
    text += fmt::format("fits into {}: micro-batches of {} rows; the largest that fits has {}\n",
                        format_bytes(memory + runtime), fit.rows, fit.largest);
  }
  if (flops > 0 && speed > 0)
    text += fmt::format("{:.3g} FLOP in a step, about {:.3g} s at this machine's {:.0f} GFLOP/s\n",
                        flops, flops / speed, speed / 1e9);
  print_out(text);
  return kExitDone;
}

}  // namespace

Command command_plan() {
  return {.name = "plan",
          .summary = "exact memory and estimated time of a run, before it starts",
          .run = run_plan};
}

}  // namespace hone
