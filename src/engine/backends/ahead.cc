#include "engine/backends/ahead.h"

#include "base/core/clock.h"
#include "base/core/text.h"
#include "engine/backends/null/null.h"
#include "engine/backends/xla/ahead.h"
#include "engine/backends/xla/backend.h"
#include "engine/backends/xla/compile_options.h"
#include "engine/backends/xla/stablehlo.h"
#include "engine/device/lower.h"
#include "engine/plan/plan.h"

namespace hone {
Result<AheadMemory> compile_ahead(const TpuSlice& slice, Program program) {
  const auto compiler = HONE_TRY(xla::AheadCompiler::open(topology_of(slice)));
  AheadMemory m{.program = program.name, .planned_code_bytes = tpu_code_bytes(program)};
  const NullBackend tpu(xla::choose_planned, *slice.device);
  std::vector<Choice> choices;
  const Program lowered = HONE_TRY(lower(std::move(program), tpu, &choices));
  const PlanInput alone = plan_input(lowered, choices);
  m.planned_bytes = HONE_TRY(plan_run(std::span(&alone, 1))).used_bytes() + m.planned_code_bytes;
  std::vector<xla::GroupedState> states;
  for (const State& s : lowered.states)
    states.push_back(
        xla::grouped_state(s.name, lowered.type(s.value), s.role, s.shard, name_of(s.home)));
  const int64_t fewest = HONE_TRY(xla::fewest_loop_layers());
  const std::string text =
      xla::write_module(lowered, {xla::Integers::of_32_bits, xla::group_states(states), fewest})
          .text;
  m.text_bytes = static_cast<int64_t>(text.size());
  const double begin = system_clock().seconds();
  const xla::CompiledMemory by_libtpu =
      HONE_TRY(compiler->compile(text, static_cast<int>(slice.devices)));
  m.seconds = system_clock().seconds() - begin;
  m.argument_bytes = by_libtpu.argument_bytes;
  m.output_bytes = by_libtpu.output_bytes;
  m.alias_bytes = by_libtpu.alias_bytes;
  m.temporary_bytes = by_libtpu.temporary_bytes;
  m.code_bytes = by_libtpu.code_bytes;
  return m;
}

}  // namespace hone
