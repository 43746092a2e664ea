// Runs programs on a backend's device: lowers and plans them, allocates memory, runs steps. Start reading this folder
// here.
//   std::vector<Program> programs = {train, update, eval};        // after their passes
//   Session s = HONE_TRY(Session::compile(std::move(programs), backend));
//   HONE_TRY(s.allocate());                                       // the only allocation
//   s.write_state("wte.weight", bytes);
//   s.input<int32_t>(0, "ids")[0] = ...;   s.run(0);   s.output<float>(0, "loss")[0]
// Inputs and outputs are in the host's memory: run() copies them to a device with memory of its own, and back. Their
// memory is reused while programs run. So write the inputs just before run(), and read the outputs just after it.
// States may be in any space; they are read and written in blocks, by the name of their tensor and a range of bytes.
// A call with an unknown name is a Bug. So is a call before allocate() that needs memory.
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

// One run of a node.
struct NodeRun {
  size_t program = 0, node = 0;  // indices in Session::programs() and Program::nodes
  double begin = 0, end = 0;     // seconds of steady_clock
};
// The runs of nodes in the order of time; profile.h prints them as a table or a trace.
struct Profile {
  std::vector<NodeRun> nodes;
  std::vector<std::vector<ThreadSpan>> threads;  // for each thread of the pool
  std::string of_device = {};  // what the device recorded itself: Executable::end_profile()
};

// Bytes [begin, begin + bytes) of a state's tensor, row-major.
struct StateRange {
  int64_t begin = 0;
  // -1: to the end of held_range(). {0, -1} reads all of held_range(), also if that does not begin at 0.
  int64_t bytes = -1;
};
using StateSink = FunctionRef<Status(std::span<const std::byte>)>;
using StateSource = FunctionRef<Status(std::span<std::byte>)>;
inline constexpr int64_t kStateBlock = int64_t{4} << 20;  // the default size of a block, in bytes

// Copies `bytes` bytes of a state from offset `from` to offset `to` in it. The two ranges do not overlap.
struct StateCopy {
  size_t state = 0;  // index in plan().states
  int64_t to = 0, from = 0, bytes = 0;
};

class Session {
 public:
  // Lowers the programs to the backend's ops, verifies and plans them, and compiles them for its device. The
  // backend must outlive the session. Errors: those of lower(), verify(), plan_run() and Backend::compile().
  static Result<Session> compile(std::vector<Program> programs, const Backend& backend);

  const RunPlan& plan() const { return plan_; }
  const std::vector<Program>& programs() const { return programs_; }  // lowered
  // The chosen kernel of each node.
  const std::vector<Choice>& choices(size_t program) const { return choices_[program]; }
  // A hash as 16 hexadecimal digits. It covers the ops and kernels of those nodes of these programs that affect the
  // bits of results. It is part of the numerics manifest, which shows whether two runs compute the same bits.
  std::string kernel_manifest(std::span<const size_t> programs) const;

  // Allocates one arena for each space, with exactly plan().arena_bytes(); all states are zero. The arena on disk is a
  // file in `folder`, which is needed only if the plan has one. Errors: those of Device::allocate().
  Status allocate(const std::string& folder = "");
  bool allocated() const { return arenas_[Space::device] != nullptr; }
  // The arena of a space, which has its states and transients; null: the space has none.
  const Memory* arena(Space s = Space::device) const { return arenas_[s].get(); }
  // The first failure of the device, such as a disk that cannot be read (Device::check()). After a failure no state is
  // valid. Call it after a run, before you keep its results.
  Status check() const { return device_ ? device_->check() : Ok{}; }

  // A tensor whose rows are in several states (ShardSpec) is read and written as one tensor, by its name. A StateRange
  // counts bytes of the whole tensor, also if other ranks hold some of its rows. Reading bytes outside of held_range()
  // is a Bug. Bytes outside of it may be written: they are taken from the source and dropped.
  bool has_state(std::string_view name) const;
  Type state_type(std::string_view name) const;  // of the whole tensor
  // Sets the weights, by name, of which this rank has only a part (passes/tensor_split.h). The weight's gradient and
  // optimizer states, "<kind>.<weight>", then have parts too. For such a state, state_type() is the type of the whole
  // tensor. write_state() takes all elements of the whole tensor and keeps the elements of this rank's part.
  // StateRange, held_range() and read_state() count bytes of the part. Call it before states are written.
  void set_parts(std::map<std::string, AxisParts> parts) { parts_ = std::move(parts); }
  const AxisParts* parts_of(std::string_view name) const;  // null: the state is a whole tensor
  // The type of this rank's part (set_parts()), including its rows that other ranks hold (ShardSpec). state_type() if
  // the tensor has no parts.
  Type part_type(std::string_view name) const;
  // The bytes of the tensor (or part) that this rank's states hold.
  StateRange held_range(std::string_view name) const;
  // Index in plan().states; a tensor in several states is a Bug.
  size_t state_index(std::string_view name) const;
  const StateSlot& state_slot(std::string_view name) const;

  // Calls the sink with one block of bytes after another, in order. A block is valid during the call. Returns the first
  // error of the sink or of check().
  Status read_state(std::string_view name, StateRange range, StateSink sink) const;
  // Calls the source for one block after another, of at most `most` bytes; the source fills the block. Returns the
  // first error of the source or of check(). If the state is a parameter with a copy (Role::copy), the copy is updated
  // before the next program runs.
  Status write_state(std::string_view name, StateRange range, StateSource source,
                     int64_t most = kStateBlock);
  // Reads held_range(); `to` must have its size.
  void read_state(std::string_view name, std::span<std::byte> to) const;
  // Writes all of held_range(). `from` has either the bytes of the whole tensor or only those of held_range(); another
  // size is a Bug.
  void write_state(std::string_view name, std::span<const std::byte> from);
  // The numbers in held_range(). T must be the tensor's element type.
  template <class T>
  std::vector<T> state_values(std::string_view name) const {
    std::vector<T> values(static_cast<size_t>(held_range(name).bytes) / sizeof(T));
    read_state(name, std::as_writable_bytes(std::span(values)));
    return values;
  }
  // Whether the programs keep the state in split form (engine/graph/halves.h). It is still read and written as f32
  // numbers; ranges must begin and end at whole numbers.
  bool is_halved(std::string_view name) const { return halved_.contains(name); }
  // Whether the host can read the state's bytes in place. If so, any thread may call read_state(), also while a program
  // runs that does not change the state.
  bool host_reads(std::string_view name) const;
  // Calls `gate` once, before a parameter or an optimizer state changes for the next time: in run(), before the first
  // node that writes one of them; else at the start of write_state(), copy_states() or zero_states(). The change waits
  // until `gate` returns. So code that reads states in another thread can finish first.
  void before_change(std::function<void()> gate) { gate_ = std::move(gate); }

  // Copies within states. No byte that one copy writes may be read or written by another copy of the call.
  void copy_states(std::span<const StateCopy> copies);

  // Fills all states of a role with zeros. Use it for roles that do not last for the whole run (StatePhase): other
  // programs may have overwritten their memory.
  void zero_states(Role role);

  // The index of the program of this name.
  size_t program_index(std::string_view name) const;
  // The bytes of an input or output in the host's memory.
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

  // Runs the program's nodes in order, and returns when all are done. Allocates nothing. Then call check(), which
  // returns a failure of the device.
  void run(size_t program);

  // Threads for host work between runs; the CPU's kernels run on them too.
  ThreadPool& pool() const { return device_->pool(); }

  // From now on run() appends each node to `profile`, and the pool appends the spans of its threads. Null: stops. If the
  // device cannot record its own part, a warning says why.
  void profile_into(Profile* profile);

  // From now on, while *found is empty, run() checks each result, and describes in *found the first tensor with a value
  // that is not finite. Null: stops. Use it to find the cause of a failed step. It is slow: run() reads all results.
  void find_not_finite(std::optional<NotFinite>* found) { not_finite_ = found; }
  // Counts the values of a state (held_range()) that are not finite.
  NotFinite count_not_finite(std::string_view state) const;

 private:
  class Watch;
  // An input or output of a program on a device with memory of its own: its two addresses.
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
  // The tensor's states in the order of rows, as indices in plan().states.
  const std::vector<size_t>& slots(std::string_view name) const;
  // Calls visit(slot, address of the first requested byte, number of bytes) for each state that holds some of the
  // range, in order.
  template <class Visit>
  Status in_states(std::string_view name, const StateRange& range, Visit visit) const;
  // Numbers [begin, end) of a state in split form, and the addresses of its upper and lower halves.
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
  bool host_reads(Space s) const;  // whether host code may read the space's addresses
  Queue& queue() const { return device_->queue(Lane::compute); }
  void look_at(size_t program, size_t node);
  void open_gate();
  // The program's first node that changes a parameter or an optimizer state; -1: none does.
  int64_t first_change(size_t program);
  void note_written(std::string_view name);  // its copy, if it has one, is out of date
  void write_copies();

  std::vector<Program> programs_;
  std::vector<std::vector<Choice>> choices_;  // by program and node
  std::vector<std::string> kernels_;          // by program: the text that kernel_manifest() hashes
  // By tensor, in the order of rows: indices in plan().states.
  std::map<std::string, std::vector<size_t>, std::less<>> slots_of_;
  std::map<std::string, AxisParts> parts_;      // by weight
  std::set<std::string, std::less<>> to_copy_;  // parameters whose copies are out of date
  RunPlan plan_;
  Device* device_ = nullptr;  // null: the backend only plans (Backend::computes())
  PerSpace<std::unique_ptr<Memory>> arenas_;
  std::unique_ptr<Executable> executable_;  // destroyed before the arenas that it uses
  // Host memory for inputs and outputs; null if the device's memory is the host's.
  std::unique_ptr<Memory> staging_;
  std::vector<std::map<ValueId, Port>> ports_;  // by program; empty without staging_
  Profile* profile_ = nullptr;
  std::optional<NotFinite>* not_finite_ = nullptr;
  std::function<void()> gate_;
  std::vector<std::optional<int64_t>> first_changes_;  // by program
  std::set<std::string, std::less<>> halved_;          // names of states in split form
};

}  // namespace hone
