#include "engine/backends/xla/executable.h"

#include <algorithm>
#include <cstring>

#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/backends/xla/compile_options.h"
#include "engine/backends/xla/profiler.h"
#include "engine/backends/xla/replicas.h"
#include "engine/backends/xla/stablehlo.h"
#include "engine/device/errors.h"

namespace hone::xla {
namespace {

// States that are one array on the device (state_arrays.h): their images, and the array. At least one of both is valid.
struct Resident {
  Resident(const StateArray& a, const RunPlan& plan) : stacked(a.stacked) {
    for (const size_t s : a.states) {
      const StateSlot& slot = plan.states[s];
      type = slot.type;
      home = slot.home;
      phase = phase_of(slot.role);
      offsets.push_back(slot.offset);
    }
    on_device = type;
    images.resize(offsets.size());
  }
  bool stacked;    // the first dimension of the array is the number of states
  Type type;       // of a state
  Type on_device;  // with the rows of the rank that has most; the image has this rank's
  Space home = Space::device;
  StatePhase phase = StatePhase::run;
  std::vector<int64_t> offsets;    // by state: in the arena of `home`
  std::vector<std::byte*> images;  // by state
  Buffer array;                    // empty: the images have the values
  bool images_valid = true;
  Type array_type() const {
    return stacked ? stack_type(on_device, std::ssize(offsets)) : on_device;
  }
  int64_t row_bytes() const { return array_type().bytes() / std::ssize(images); }  // of a state
  bool touches(const std::byte* at, int64_t bytes) const {
    return std::any_of(images.begin(), images.end(), [&](const std::byte* image) {
      return image < at + bytes && at < image + type.bytes();
    });
  }
};

struct Call {
  std::shared_ptr<const Compiled> program;
  bool of_all_ranks = false;  // each of them runs it with the others
  std::vector<Type> inputs, outputs;
  std::vector<Type> results_of_ranks;  // of `outputs`, with the rows of the rank that has most
  std::vector<size_t> states;          // numbers of Residents, in the order of arguments
  std::vector<size_t> written;         // of these, in the order of results
  StatePhase phase = StatePhase::run;
  size_t nodes = 0;
  // Kept from run to run.
  std::vector<Buffer> given;
  std::vector<pjrt::Buffer*> arguments, results;
};

// A program with collectives, which all ranks run together.
struct RanksModule {
  ModuleText module;
  std::shared_ptr<const Compiled> program;  // null: the program has no collectives
};

// The programs of a rank, at a meeting.
struct ProgramsOfRank {
  std::span<const Program> programs;
  const std::vector<StateArrays>* arrays;  // by program
  std::vector<RanksModule>* made;
};

Status compile_for_all(const Client& client, std::span<void* const> ranks) {
  const auto given = [&](size_t rank) { return static_cast<ProgramsOfRank*>(ranks[rank]); };
  const int64_t fewest = HONE_TRY(fewest_loop_layers());
  for (size_t i = 0; i < given(0)->programs.size(); ++i) {
    if (!has_collectives(given(0)->programs[i])) continue;
    std::vector<const Program*> of_ranks;
    const StateArrays& arrays = (*given(0)->arrays)[i];
    for (size_t r = 0; r < ranks.size(); ++r) {
      HONE_BUG_IF(i >= given(r)->programs.size(), "rank {} has other programs", r);
      of_ranks.push_back(&given(r)->programs[i]);
    }
    for (size_t r = 0; r < ranks.size(); ++r) {
      if ((*given(r)->arrays)[i] == arrays) continue;
      HONE_TRY(compare_replicas(of_ranks));  // names the difference
      return Error(err::kDeclined, fmt::format("rank {} groups its states in another way", r));
    }
    const ModuleText module =
        HONE_TRY(write_replicas(of_ranks, {client.integers(), arrays, fewest}));
    const auto program = HONE_TRY(client.compile(module.text, static_cast<int>(ranks.size())));
    for (size_t r = 0; r < ranks.size(); ++r) (*given(r)->made)[i] = {module, program};
  }
  return Ok{};
}

class XlaExecutable : public Executable, public Residents {
 public:
  explicit XlaExecutable(XlaDevice& device) : device_(device) { device_.add(this); }
  ~XlaExecutable() override { device_.remove(this); }
  XlaExecutable(const XlaExecutable&) = delete;

  Status add(std::span<const Program> programs, const RunPlan& plan) {
    group(programs, plan);
    const int64_t fewest = HONE_TRY(fewest_loop_layers());
    std::vector<RanksModule> replicas(programs.size());
    if (device_.together() != nullptr &&
        std::any_of(programs.begin(), programs.end(), has_collectives))
      HONE_TRY(compile_together(programs, replicas));
    for (size_t i = 0; i < programs.size(); ++i) {
      const Program& p = programs[i];
      Call c;
      ModuleText module = std::move(replicas[i].module);
      c.program = replicas[i].program;
      c.of_all_ranks = c.program != nullptr;
      if (!c.of_all_ranks) {
        module = write_module(p, {device_.client().integers(), arrays_[i], fewest});
        c.program = HONE_TRY(device_.client().compile(module.text));
      }
      for (const Named& in : p.inputs) c.inputs.push_back(p.type(in.value));
      for (const ValueId v : module.outputs) c.outputs.push_back(p.type(v));
      c.results_of_ranks = module.results;
      for (size_t k = 0; k < c.outputs.size(); ++k)
        if (c.outputs[k] != module.results[k]) reserve_scratch(module.results[k]);
      c.states = arrays_of_[i];
      for (size_t s = 0; s < c.states.size(); ++s) {
        Resident& r = states_[c.states[s]];
        if (module.states[s] == r.on_device) continue;
        HONE_BUG_IF(!c.of_all_ranks || r.on_device != r.type,
                    "{} takes other rows of state {} than {}", p.name, s, r.on_device.text());
        r.on_device = module.states[s];
        reserve_scratch(r.array_type());
      }
      for (const size_t s : module.written) c.written.push_back(c.states[s]);
      c.phase = plan.programs[i].phase;
      c.nodes = p.nodes.size();
      c.given.resize(c.inputs.size());
      c.arguments.resize(c.inputs.size() + c.states.size());
      c.results.resize(c.outputs.size() + c.written.size());
      report(p, c);
      calls_.push_back(std::move(c));
    }
    release_scratch();
    return Ok{};
  }

  void bind(const PerSpace<std::byte*>& arenas, std::vector<Ports> ports) override {
    ports_ = std::move(ports);
    for (Resident& r : states_)
      for (size_t k = 0; k < r.images.size(); ++k) r.images[k] = arenas[r.home] + r.offsets[k];
  }

  void run(size_t program, NodeWatch* watch) override {
    Call& c = calls_[program];
    // The nodes run together: all of them begin now, and none has an end of its own.
    for (size_t k = 0; watch != nullptr && k < c.nodes; ++k) watch->begin(k);
    device_.fail(run(c, ports_[program]));
  }

  Status begin_profile() override {
    if (const pjrt::ProfilerApi* profiler = profiler_of(device_.client().plugin().api()))
      recording_ = HONE_TRY(PluginProfile::start(*profiler));
    return Ok{};
  }
  Result<std::string> end_profile() override {
    const std::unique_ptr<PluginProfile> ended = std::move(recording_);
    if (ended == nullptr) return std::string();
    return ended->finish();
  }

  Status bring_back(std::byte* at, int64_t bytes) override {
    for (Resident& r : states_) {
      if (r.images_valid || !r.touches(at, bytes)) continue;
      HONE_TRY(download(r));
      r.images_valid = true;
    }
    return Ok{};
  }

  void forget(std::byte* at, int64_t bytes) override {
    for (Resident& r : states_)
      if (r.touches(at, bytes)) drop(r);
  }

 private:
  // Divides the states of the plan into arrays, and finds those of each program.
  void group(std::span<const Program> programs, const RunPlan& plan) {
    std::vector<GroupedState> names;
    for (const StateSlot& s : plan.states)
      names.push_back(grouped_state(s.name, s.type, s.role, s.shard, name_of(s.home)));
    const StateArrays arrays = group_states(names);
    std::vector<size_t> array_of(plan.states.size());
    for (size_t a = 0; a < arrays.size(); ++a) {
      states_.emplace_back(arrays[a], plan);
      for (const size_t s : arrays[a].states) array_of[s] = a;
      if (arrays[a].stacked) reserve_scratch(states_.back().array_type());
    }
    for (const Program& p : programs) {
      std::vector<size_t> slots;
      for (const State& s : p.states) slots.push_back(slot(plan, s.name));
      arrays_.push_back(arrays_of_program(arrays, slots));
      arrays_of_.emplace_back();
      for (const StateArray& a : arrays_.back())
        arrays_of_.back().push_back(
            array_of[slots[*std::min_element(a.states.begin(), a.states.end())]]);
    }
  }

  Status compile_together(std::span<const Program> programs, std::vector<RanksModule>& made) {
    ProgramsOfRank mine{programs, &arrays_, &made};
    return device_.together()->meet(device_.ordinal(), &mine, [&](std::span<void* const> all) {
      return compile_for_all(device_.client(), all);
    });
  }

  Status run_together(Call& c) {
    return device_.together()->meet(device_.ordinal(), &c, [&](std::span<void* const> all) {
      std::vector<pjrt::Buffer* const*> arguments;
      std::vector<pjrt::Buffer**> results;
      for (void* rank : all) {
        auto* call = static_cast<Call*>(rank);
        HONE_BUG_IF(call->program != c.program, "the ranks run different programs");
        arguments.push_back(call->arguments.data());
        results.push_back(call->results.data());
      }
      return c.program->run_replicas(arguments, c.arguments.size(), results);
    });
  }

  static size_t slot(const RunPlan& plan, const std::string& name) {
    const auto at = std::find_if(plan.states.begin(), plan.states.end(),
                                 [&](const StateSlot& s) { return s.name == name; });
    HONE_BUG_IF(at == plan.states.end(), "the plan has no state '{}'", name);
    return static_cast<size_t>(at - plan.states.begin());
  }

  void report(const Program& p, const Call& c) const {
    const auto memory = c.program->memory();
    if (!memory.ok()) return;
    log_debug(
        "{}: program {} has {} of arguments, {} of results ({} in their place), {} of "
        "temporary memory",
        device_.spec().name, p.name, format_bytes(memory->argument_bytes),
        format_bytes(memory->output_bytes), format_bytes(memory->alias_bytes),
        format_bytes(memory->temporary_bytes));
  }

  static void drop(Resident& r) {
    r.array = Buffer();
    r.images_valid = true;
  }

  Status run(Call& c, const Ports& ports) {
    // States of other phases have ended: their memory is free for this program.
    for (Resident& r : states_)
      if (r.phase != StatePhase::run && r.phase != c.phase) drop(r);
    const Client& client = device_.client();
    size_t next = 0;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      c.given[i] = HONE_TRY(client.upload(device_.ordinal(), ports.loads[i].from, c.inputs[i]));
      c.arguments[next++] = c.given[i].raw();
    }
    for (const size_t s : c.states) {
      Resident& r = states_[s];
      if (!r.array) r.array = HONE_TRY(upload(r));
      c.arguments[next++] = r.array.raw();
    }
    HONE_TRY(c.of_all_ranks ? run_together(c)
                            : c.program->run(device_.ordinal(), c.arguments, c.results));
    std::vector<Buffer> made;
    for (pjrt::Buffer* raw : c.results) made.emplace_back(client, raw);
    for (Buffer& given : c.given) given = Buffer();
    for (size_t i = 0; i < c.outputs.size(); ++i)
      HONE_TRY(download(made[i], c.results_of_ranks[i], ports.stores[i].to, c.outputs[i]));
    for (size_t i = 0; i < c.written.size(); ++i) {
      Resident& r = states_[c.written[i]];
      r.array = std::move(made[c.outputs.size() + i]);
      r.images_valid = false;
    }
    for (const size_t s : c.states) HONE_TRY(settle(states_[s]));
    return Ok{};
  }

  // The rows that other ranks have more are zeros.
  Result<Buffer> upload(const Resident& r) {
    const Client& client = device_.client();
    if (!r.stacked && r.on_device == r.type)
      return client.upload(device_.ordinal(), r.images[0], r.type);
    const int64_t step = r.row_bytes(), own = r.type.bytes();
    std::byte* to = scratch_.data();
    for (const std::byte* image : r.images) {
      std::memcpy(to, image, static_cast<size_t>(own));
      std::memset(to + own, 0, static_cast<size_t>(step - own));
      to += step;
    }
    Result<Buffer> made = client.upload(device_.ordinal(), scratch_.data(), r.array_type());
    release_scratch();
    return made;
  }
  Status download(const Resident& r) {
    if (!r.stacked) return download(r.array, r.on_device, r.images[0], r.type);
    HONE_TRY(device_.client().download(r.array, scratch_.data(), r.array_type().bytes()));
    const std::byte* from = scratch_.data();
    for (std::byte* image : r.images) {
      std::memcpy(image, from, static_cast<size_t>(r.type.bytes()));
      from += r.row_bytes();
    }
    release_scratch();
    return Ok{};
  }
  // The first rows of an array.
  Status download(const Buffer& array, const Type& all, void* to, const Type& own) {
    if (all == own) return device_.client().download(array, to, own.bytes());
    HONE_TRY(device_.client().download(array, scratch_.data(), all.bytes()));
    std::memcpy(to, scratch_.data(), static_cast<size_t>(own.bytes()));
    return Ok{};
  }
  void reserve_scratch(const Type& type) {
    scratch_.resize(std::max(scratch_.size(), static_cast<size_t>(type.bytes())));
  }
  // A stack may be large, and is moved seldom.
  void release_scratch() { release_pages(scratch_.data(), std::ssize(scratch_)); }

  // After a run: the value of a state of the host is in its image, that of others on the device.
  Status settle(Resident& r) {
    if (r.home == Space::device) {
      r.images_valid = false;
      for (std::byte* image : r.images) release_pages(image, r.type.bytes());
      return Ok{};
    }
    if (!r.images_valid) HONE_TRY(download(r));
    drop(r);
    return Ok{};
  }

  XlaDevice& device_;
  std::vector<Resident> states_;                // by array
  std::vector<Call> calls_;                     // by program
  std::vector<StateArrays> arrays_;             // by program
  std::vector<std::vector<size_t>> arrays_of_;  // by program: the numbers of its arrays in states_
  std::vector<Ports> ports_;
  std::vector<std::byte> scratch_;  // a stack, or an array with rows of other ranks
  std::unique_ptr<PluginProfile> recording_;
};

}  // namespace

Result<std::unique_ptr<Executable>> make_executable(XlaDevice& device,
                                                    std::span<const Program> programs,
                                                    const RunPlan& plan) {
  auto made = std::make_unique<XlaExecutable>(device);
  HONE_TRY(made->add(programs, plan));
  return std::unique_ptr<Executable>(std::move(made));
}

}  // namespace hone::xla
