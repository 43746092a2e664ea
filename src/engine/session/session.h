// Runs programs: lowering to a backend, memory plan, arena, steps. Start reading the room here.
//
//   std::vector<Program> programs = {train, update, eval};        // after their passes
//   Session s = HONE_TRY(Session::compile(std::move(programs), backend, pool));
//   HONE_TRY(s.allocate());                                       // the only allocation
//   std::memcpy(s.state("wte.weight").data(), ...);
//   s.input<int32_t>(0, "ids")[0] = ...;   s.run(0);   s.output<float>(0, "loss")[0]
//
// Inputs and outputs of a program are in memory that its own steps and other programs reuse:
// write the inputs just before run(), read the outputs just after.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/device/backend.h"
#include "engine/plan/plan.h"
#include "engine/session/arena.h"
#include "engine/session/not_finite.h"

namespace hone {

// What ran when, in seconds of steady_clock; profile.h makes tables and traces of it.
struct NodeRun {
  size_t program = 0, node = 0;  // indices
  double begin = 0, end = 0;
};
struct Profile {
  std::vector<NodeRun> nodes;
  std::vector<std::vector<ThreadSpan>> threads;  // [pool size]
};

class Session {
 public:
  static Result<Session> compile(std::vector<Program> programs, const Backend& backend,
                                 ThreadPool& pool);

  const RunPlan& plan() const { return plan_; }
  const std::vector<Program>& programs() const { return programs_; }
  const std::vector<Kernel>& kernels(size_t program) const { return kernels_[program]; }
  // "op kernel-id" of every node of every program, hashed: part of the numerics manifest.
  std::string kernel_manifest() const;

  // Takes the arena, in which all states are zero. Asserts that the programs reach exactly the
  // plan's size.
  Status allocate();
  bool allocated() const { return arena_.data() != nullptr; }
  const Arena& arena() const { return arena_; }

  bool has_state(std::string_view name) const;
  std::span<std::byte> state(std::string_view name);
  const StateSlot& state_slot(std::string_view name) const;

  // Of a role whose states do not live as long as the run: other programs have used their memory.
  void zero_states(Role role);

  size_t program_index(std::string_view name) const;
  std::span<std::byte> input_bytes(size_t program, std::string_view name);
  std::span<const std::byte> output_bytes(size_t program, std::string_view name) const;
  bool has_input(size_t program, std::string_view name) const;
  template <class T>
  std::span<T> input(size_t program, std::string_view name) {
    auto b = input_bytes(program, name);
    return {reinterpret_cast<T*>(b.data()), b.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> output(size_t program, std::string_view name) const {
    auto b = output_bytes(program, name);
    return {reinterpret_cast<const T*>(b.data()), b.size() / sizeof(T)};
  }

  // Executes the program's nodes in order. Allocates nothing.
  void run(size_t program);

  // What its kernels run on, for other work between runs.
  ThreadPool& pool() const { return *pool_; }

  // While set, run() appends every node to it, and the pool what its threads do.
  void profile_into(Profile* profile);

  // While set and empty, run() looks at every result for values that are not finite and puts the
  // first there. For finding out why a step failed: it reads all that the program writes.
  void find_not_finite(std::optional<NotFinite>* found) { not_finite_ = found; }
  // The bytes of a state, as they are in memory.
  NotFinite count_not_finite(std::string_view state) const;

 private:
  struct Call {
    std::vector<const void*> in;
    std::vector<void*> out;
    void* workspace = nullptr;
  };
  std::byte* at(size_t program, ValueId v) const;
  void bind();
  void look_at(const Program& p, const Node& n, const Call& call);

  std::vector<Program> programs_;
  std::vector<std::vector<Kernel>> kernels_;
  std::vector<std::vector<Call>> calls_;
  std::map<std::string, size_t, std::less<>> slot_of_;
  RunPlan plan_;
  Arena arena_;
  ThreadPool* pool_ = nullptr;
  bool computes_ = true;
  Profile* profile_ = nullptr;
  std::optional<NotFinite>* not_finite_ = nullptr;
};

}  // namespace hone
