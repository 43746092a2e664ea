// Runs programs: lowering to a backend, memory plan, arenas, steps. Start reading the room here.
//   std::vector<Program> programs = {train, update, eval};        // after their passes
//   Session s = HONE_TRY(Session::compile(std::move(programs), backend));
//   HONE_TRY(s.allocate());                                       // the only allocation
//   s.write_state("wte.weight", bytes);
//   s.input<int32_t>(0, "ids")[0] = ...;   s.run(0);   s.output<float>(0, "loss")[0]
// Inputs and outputs are host values: run() copies them to a device with memory of its own, and
// back. Their memory is reused by the program's own steps and by other programs: write the inputs
// just before run(), read the outputs just after. States are read and written by the name of their
// tensor and a range, in blocks, in any space.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>

#include "engine/device/backend.h"
#include "engine/graph/axis_parts.h"
#include "engine/plan/plan.h"
#include "engine/session/not_finite.h"

namespace hone {

// The time of a node's run, in seconds of steady_clock; profile.h makes tables and traces of it.
struct NodeRun {
  size_t program = 0, node = 0;  // indices
  double begin = 0, end = 0;
};
struct Profile {
  std::vector<NodeRun> nodes;
  std::vector<std::vector<ThreadSpan>> threads;  // [pool size]
};

// Bytes [begin, begin + bytes) of a state's tensor, row-major.
struct StateRange {
  int64_t begin = 0;
  int64_t bytes = -1;  // -1: to the end of its rows here, from their begin if `begin` is 0
};
using StateSink = FunctionRef<Status(std::span<const std::byte>)>;
using StateSource = FunctionRef<Status(std::span<std::byte>)>;
inline constexpr int64_t kStateBlock = int64_t{4} << 20;  // bytes

// Moves bytes of one state to another place in it. The two ranges do not overlap.
struct StateCopy {
  size_t state = 0;  // index in plan().states
  int64_t to = 0, from = 0, bytes = 0;
};

class Session {
 public:
  // The backend must outlive the session.
  static Result<Session> compile(std::vector<Program> programs, const Backend& backend);

  const RunPlan& plan() const { return plan_; }
  const std::vector<Program>& programs() const { return programs_; }
  const std::vector<Choice>& choices(size_t program) const { return choices_[program]; }
  // Hash of "op kernel-id" of every node of these programs: part of the numerics manifest.
  std::string kernel_manifest(std::span<const size_t> programs) const;

  // Allocates the arenas; all states are zero. The arena on disk is a file in `folder`, needed if
  // the plan has one. Asserts that the programs reach exactly the plan's size.
  Status allocate(const std::string& folder = "");
  bool allocated() const { return arenas_[Space::device] != nullptr; }
  // The states and transients of a space, plan().arena_bytes(s) long; null if there are none.
  const Memory* arena(Space s = Space::device) const { return arenas_[s].get(); }
  // The first failure of the device, such as a disk that cannot be read: no state is valid from
  // then on. Call it after a run, before its results are kept.
  Status check() const { return device_ ? device_->check() : Ok{}; }

  // A tensor that several states hold (ShardSpec) has one name and one type; it is read and written
  // as a whole. Ranges are bytes of the whole also if other ranks hold some of its rows: to read bytes
  // outside of held_range() is then a Bug, and to write them takes them from the source and ignores
  // them.
  bool has_state(std::string_view name) const;
  Type state_type(std::string_view name) const;
  // Weights of which this rank has parts (passes/tensor_split.h); so have their gradients and moments, whose names
  // end with a dot and the weight's. state_type() is then the type of the whole tensor, and write_state() of all
  // elements keeps those that are here. Ranges, held_range() and read_state() are those of the part. Call it
  // before states are written.
  void set_parts(std::map<std::string, AxisParts> parts) { parts_ = std::move(parts); }
  const AxisParts* parts_of(std::string_view name) const;  // null: it is not in parts
  Type part_type(std::string_view name) const;  // of all rows of the part; else that of the tensor
  StateRange held_range(std::string_view name) const;
  // Index in plan().states; a tensor of several states is a Bug.
  size_t state_index(std::string_view name) const;
  const StateSlot& state_slot(std::string_view name) const;

  // Calls the sink with one block after another, in order. Returns the sink's errors and those of
  // check().
  Status read_state(std::string_view name, StateRange range, StateSink sink) const;
  // Calls the source for one block after another, at most `most` bytes each, which it fills. The
  // copy of a parameter (Role::copy) has the new bytes before the next program runs.
  Status write_state(std::string_view name, StateRange range, StateSource source,
                     int64_t most = kStateBlock);
  // Reads all bytes of a state that are here.
  void read_state(std::string_view name, std::span<std::byte> to) const;
  void write_state(std::string_view name,
                   std::span<const std::byte> from);  // all bytes, or all that are here
  template <class T>
  std::vector<T> state_values(std::string_view name) const {
    std::vector<T> values(static_cast<size_t>(held_range(name).bytes) / sizeof(T));
    read_state(name, std::as_writable_bytes(std::span(values)));
    return values;
  }
  // Whether the programs keep the state as halves: its numbers are then made of them, or taken apart, where they are read and
  // written, in ranges of whole numbers.
  bool is_halved(std::string_view name) const { return halved_.contains(name); }
  // Whether the host can read the state's bytes in place: then any thread may call read_state(),
  // also while a program runs that does not change the state.
  bool host_reads(std::string_view name) const;
  // Calls `gate` once, before anything changes a parameter or a moment: in a program that does,
  // before its first such node; before write_state(), copy_states() and zero_states(). For code
  // that reads states at the same time.
  void before_change(std::function<void()> gate) { gate_ = std::move(gate); }

  // Copies on the device. No byte is written by one copy and touched by another.
  void copy_states(std::span<const StateCopy> copies);

  // Clears states of a role that does not live for the whole run: other programs have used their
  // memory.
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

  // Threads for host work between runs; the CPU's kernels run on them too.
  ThreadPool& pool() const { return device_->pool(); }

  // While set, run() appends every node to it, and the pool its threads' spans.
  void profile_into(Profile* profile);

  // While set and empty, run() checks every result and stores the first one that is not finite
  // there. For finding the cause of a failed step: it reads everything that the program writes.
  void find_not_finite(std::optional<NotFinite>* found) { not_finite_ = found; }
  // Checks the bytes of a state in memory.
  NotFinite count_not_finite(std::string_view state) const;

 private:
  class Watch;
  // A value that host code writes or reads around a run.
  struct Port {
    void* device = nullptr;
    void* host = nullptr;
    int64_t bytes = 0;
  };
  std::byte* at(size_t program, ValueId v) const;
  std::byte* at(const StateSlot& s) const { return arenas_[s.home]->data() + s.offset; }
  std::byte* host_at(size_t program, ValueId v) const;  // of an input or output
  std::span<std::byte> host_bytes(size_t program, ValueId v, bool writes) const;
  Ports bind_ports(size_t program);
  // Calls visit(state, first requested byte, number of bytes) for each state that holds some of the
  // range, in order.
  const std::vector<size_t>& slots(std::string_view name) const;  // in plan().states
  template <class Visit>
  Status in_states(std::string_view name, const StateRange& range, Visit visit) const;
  // Numbers [begin, end) of a state that is kept as halves, and where it begins.
  struct HalvedRange {
    std::byte *upper, *lower;
    int64_t begin, end;
  };
  HalvedRange halved_range(std::string_view name, const StateRange& range) const;
  Status read_halves(std::string_view name, const StateRange& range, StateSink sink) const;
  Status write_halves(std::string_view name, const StateRange& range, StateSource source,
                      int64_t most_bytes);
  Status write_parts(std::string_view name, const AxisParts& parts, StateSource source,
                     int64_t most);
  void copy_all(std::string_view name, int64_t given,
                FunctionRef<void(std::byte* state, int64_t begin, int64_t bytes)> copy) const;
  bool host_reads(Space s) const;  // by its addresses
  Queue& queue() const { return device_->queue(Lane::compute); }
  void look_at(size_t program, size_t node);
  void open_gate();
  int64_t first_change(size_t program);      // a node; -1: none changes a parameter or a moment
  void note_written(std::string_view name);  // a parameter with a copy
  void write_copies();                       // of these parameters

  std::vector<Program> programs_;
  std::vector<std::vector<Choice>> choices_;  // by program and node
  std::vector<std::string> kernels_;          // by program: what decides its bits
  // By tensor, in the order of rows: indices in plan().states.
  std::map<std::string, std::vector<size_t>, std::less<>> slots_of_;
  std::map<std::string, AxisParts> parts_;      // by weight
  std::set<std::string, std::less<>> to_copy_;  // parameters that were written from outside
  RunPlan plan_;
  Device* device_ = nullptr;  // null: nothing computes
  PerSpace<std::unique_ptr<Memory>> arenas_;
  std::unique_ptr<Executable> executable_;  // destroyed before the arenas that it uses
  // The host's own copy of inputs and outputs; null if the device's memory is the host's.
  std::unique_ptr<Memory> staging_;
  std::vector<std::map<ValueId, Port>> ports_;  // by program, with staging_
  Profile* profile_ = nullptr;
  std::optional<NotFinite>* not_finite_ = nullptr;
  std::function<void()> gate_;
  std::vector<std::optional<int64_t>> first_changes_;  // by program
  std::set<std::string, std::less<>> halved_;          // states that programs keep as halves
};

}  // namespace hone
