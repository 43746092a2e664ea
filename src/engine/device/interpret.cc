#include "engine/device/interpret.h"

#include "engine/device/lower.h"
#include "engine/graph/builder.h"
#include "engine/ops/errors.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

constexpr size_t kGuard = 64;
constexpr uint8_t kGuardByte = 0xa5, kFreshByte = 0xff;

// [guard][payload][pad and guard] in the device's memory, with an image of it on the host: the
// image is written and read here, and brought to the device and back around each kernel.
class Buffer {
 public:
  Buffer(Device& device, int64_t bytes)
      : queue_(device.queue(Lane::compute)),
        size_(static_cast<size_t>(bytes)),
        image_((size_ + 63) / 64 * 64 + 2 * kGuard, kGuardByte) {
    Result<std::unique_ptr<Memory>> m =
        device.allocate(Space::device, static_cast<int64_t>(image_.size()));
    if (!m) throw BuildError(m.error());
    memory_ = std::move(*m);
    std::fill(data(), data() + size_, kFreshByte);
  }
  uint8_t* data() { return image_.data() + kGuard; }
  size_t size() const { return size_; }
  void* address() const { return memory_->data() + kGuard; }  // of the payload, on the device
  void push() { queue_.copy(memory_->data(), image_.data(), memory_->bytes()); }
  void pull() { queue_.copy(image_.data(), memory_->data(), memory_->bytes()); }
  bool intact() const {
    auto guard = [](uint8_t b) { return b == kGuardByte; };
    return std::all_of(image_.begin(), image_.begin() + kGuard, guard) &&
           std::all_of(image_.begin() + static_cast<std::ptrdiff_t>(kGuard + size_), image_.end(),
                       guard);
  }

 private:
  Queue& queue_;
  size_t size_;
  std::vector<uint8_t> image_;
  std::unique_ptr<Memory> memory_;
};

class Interpreter {
 public:
  Interpreter(const Program& p, const Backend& backend, const InterpretOptions& options)
      : p_(p),
        backend_(backend),
        options_(options),
        buffers_(p.values.size()),
        last_(p.values.size(), -1) {
    for (size_t i = 0; i < p.nodes.size(); ++i)
      for (ValueId v : p.nodes[i].in)
        if (v != kNoValue) last_[static_cast<size_t>(v)] = static_cast<int>(i);
    for (const Named& o : p.outputs)
      last_[static_cast<size_t>(o.value)] = static_cast<int>(p.nodes.size());
    for (const State& s : p.states)
      last_[static_cast<size_t>(s.next == kNoValue ? s.value : s.next)] =
          static_cast<int>(p.nodes.size());
  }

  Status give(const std::string& name, ValueId v, const Tensors& given) {
    auto it = given.find(name);
    if (it == given.end())
      return Error(err::kOperands, fmt::format("no value is given for '{}'", name));
    if (it->second.type != p_.type(v))
      return Error(err::kOperands, fmt::format("'{}' is {}, {} is given", name, p_.type(v).text(),
                                               it->second.type.text()));
    std::copy(it->second.bytes.begin(), it->second.bytes.end(), fresh(v).data());
    return Ok{};
  }

  Status step(size_t index) {
    const Node& n = p_.nodes[index];
    const NodeView view{p_, n};
    if (!has_kernel(view)) {
      Buffer& to = fresh(n.out[0]);
      const uint8_t* from = buffer(n.in[0]).data() + (n.op->copies ? 0 : n.op->view_offset(view));
      std::copy(from, from + to.size(), to.data());
    } else {
      HONE_TRY(run(n, view, index));
    }
    for (ValueId v : n.in)
      if (v != kNoValue && last_[static_cast<size_t>(v)] == static_cast<int>(index))
        buffers_[static_cast<size_t>(v)].reset();
    return Ok{};
  }

  Tensor tensor(ValueId v) {
    Tensor t(p_.type(v));
    std::copy(buffer(v).data(), buffer(v).data() + t.bytes.size(), t.bytes.begin());
    return t;
  }

  std::vector<std::string> broken;

 private:
  Buffer& fresh(ValueId v) {
    return *(buffers_[static_cast<size_t>(v)] =
                 std::make_shared<Buffer>(backend_.device(), p_.type(v).bytes()));
  }
  Buffer& buffer(ValueId v) {
    HONE_BUG_IF(!buffers_[static_cast<size_t>(v)], "%{} has no buffer", v);
    return *buffers_[static_cast<size_t>(v)];
  }

  // The operand whose content output k takes as its start, or -1. The content is copied, so an
  // operand stays whole for later readers.
  int storage_of(const Node& n, const NodeView& view, size_t k, size_t index) {
    if (!options_.in_place) return -1;
    for (size_t i : inplace_inputs(view, k)) {
      ValueId v = n.in[i];
      bool dies = last_[static_cast<size_t>(v)] == static_cast<int>(index) &&
                  std::count(n.in.begin(), n.in.end(), v) == 1;
      if (dies && view.in(i) == view.out(k)) return static_cast<int>(i);
    }
    return -1;
  }

  Status run(const Node& n, const NodeView& view, size_t index) {
    Node here = n;  // on the device, where all values are
    here.lane = Lane::compute;
    Kernel kernel = HONE_TRY(backend_.kernel({p_, here}));
    Queue& queue = backend_.device().queue(Lane::compute);
    std::vector<const void*> in(n.in.size(), nullptr);
    std::vector<void*> out;
    std::vector<std::vector<uint8_t>> before(n.in.size());
    std::vector<Buffer*> used;
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (!view.has(i)) continue;
      Buffer& b = buffer(n.in[i]);
      in[i] = b.address();
      before[i].assign(b.data(), b.data() + b.size());
      used.push_back(&b);
    }
    for (size_t k = 0; k < n.out.size(); ++k) {
      int from = storage_of(n, view, k, index);
      Buffer& b = fresh(n.out[k]);
      if (from >= 0) {
        auto& start = before[static_cast<size_t>(from)];
        std::copy(start.begin(), start.end(), b.data());
        in[static_cast<size_t>(from)] = b.address();
      }
      out.push_back(b.address());
      used.push_back(&b);
    }
    Buffer workspace(backend_.device(), kernel.workspace_bytes);
    used.push_back(&workspace);
    for (Buffer* b : used) b->push();
    kernel.run({in.data(), out.data(), workspace.address(), queue});
    for (Buffer* b : used) b->pull();
    queue.finish();

    auto report = [&](const std::string& what) {
      broken.push_back(fmt::format("{} ({}) {}", kernel.id, n.op->name, what));
    };
    if (!workspace.intact()) report("writes outside its workspace");
    for (size_t k = 0; k < n.out.size(); ++k)
      if (!buffer(n.out[k]).intact())
        report(fmt::format("writes outside output {} {}", k, view.out(k).text()));
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (!view.has(i)) continue;
      Buffer& b = buffer(n.in[i]);
      if (!b.intact()) report(fmt::format("writes outside input {} {}", i, view.in(i).text()));
      if (!std::equal(before[i].begin(), before[i].end(), b.data()))
        report(fmt::format("changes input {} {}", i, view.in(i).text()));
    }
    return Ok{};
  }

  const Program& p_;
  const Backend& backend_;
  const InterpretOptions& options_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
  std::vector<int> last_;
};

template <class T>
void put(std::vector<uint8_t>& bytes, size_t i, T x) {
  std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
}
template <class T>
T take(const std::vector<uint8_t>& bytes, size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
  return x;
}

// Whether the backend compiles whole programs: it chooses a node and has no kernel for it.
bool runs_programs_only(const Program& p, const Backend& backend) {
  for (const Node& n : p.nodes)
    if (has_kernel({p, n})) return !backend.kernel({p, n}).ok();
  return false;
}

// Runs a lowered program in one go, through the backend's executable.
Result<Outcome> run_whole(const Program& p, const Backend& backend, const Tensors& given) {
  const PlanInput input{&p, std::vector<int64_t>(p.nodes.size(), 0)};
  const RunPlan plan = HONE_TRY(plan_run({&input, 1}));
  const auto executable = HONE_TRY(backend.compile({&p, 1}, plan));
  Device& device = backend.device();
  Queue& queue = device.queue(Lane::compute);
  const std::unique_ptr<Memory> arena =
      HONE_TRY(device.allocate(Space::device, plan.arena_bytes()));
  PerSpace<std::byte*> arenas;
  arenas[Space::device] = arena->data();

  const auto at = [&](ValueId v) {
    return arena->data() + plan.programs[0].offset[static_cast<size_t>(v)];
  };
  const auto tensor = [&](const std::string& name, ValueId v) -> Result<const Tensor*> {
    const auto it = given.find(name);
    if (it == given.end() || it->second.type != p.type(v))
      return Error(err::kOperands, fmt::format("'{}' is not given, or has another type than {}",
                                               name, p.type(v).text()));
    return &it->second;
  };
  Outcome o;
  Ports ports;
  for (const Named& n : p.inputs) {
    const Tensor* t = HONE_TRY(tensor(n.name, n.value));
    ports.loads.push_back({at(n.value), t->bytes.data(), t->type.bytes()});
  }
  std::map<ValueId, std::string> stored;  // the output whose tensor has the value
  for (const Named& n : p.outputs) {
    Tensor& t = o.outputs[n.name] = Tensor(p.type(n.value));
    if (stored.emplace(n.value, n.name).second)
      ports.stores.push_back({t.bytes.data(), at(n.value), t.type.bytes()});
  }
  executable->bind(arenas, {ports});
  for (const State& s : p.states) {
    const Tensor* t = HONE_TRY(tensor(s.name, s.value));
    queue.copy(at(s.value), t->bytes.data(), t->type.bytes());
  }
  executable->run(0, nullptr);
  queue.finish();
  for (const Named& n : p.outputs)
    if (const std::string& first = stored.at(n.value); first != n.name)
      o.outputs[n.name] = o.outputs[first];
  for (const State& s : p.states) {
    Tensor& t = o.states[s.name] = Tensor(p.type(s.value));
    queue.copy(t.bytes.data(), at(s.value), t.type.bytes());
  }
  queue.finish();
  HONE_TRY(device.check());
  return o;
}

}  // namespace

Tensor Tensor::of(Type t, const std::vector<double>& values) {
  Tensor x(std::move(t));
  HONE_BUG_IF(static_cast<int64_t>(values.size()) != x.type.count(), "{} values for {}",
              values.size(), x.type.text());
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    switch (x.type.dtype) {
      case DType::f64:
        put(x.bytes, i, v);
        break;
      case DType::f32:
        put(x.bytes, i, static_cast<float>(v));
        break;
      case DType::bf16:
        put(x.bytes, i, f32_to_bf16(static_cast<float>(v)));
        break;
      case DType::f16:
        put(x.bytes, i, f32_to_f16(static_cast<float>(v)));
        break;
      case DType::i64:
        put(x.bytes, i, static_cast<int64_t>(v));
        break;
      case DType::i32:
        put(x.bytes, i, static_cast<int32_t>(v));
        break;
      case DType::i8:
        put(x.bytes, i, static_cast<int8_t>(v));
        break;
      case DType::u8:
        put(x.bytes, i, static_cast<uint8_t>(v));
        break;
      case DType::boolean:
        put(x.bytes, i, static_cast<uint8_t>(v != 0));
        break;
    }
  }
  return x;
}

std::vector<double> Tensor::numbers() const {
  std::vector<double> v(static_cast<size_t>(type.count()));
  for (size_t i = 0; i < v.size(); ++i) switch (type.dtype) {
      case DType::f64:
        v[i] = take<double>(bytes, i);
        break;
      case DType::f32:
        v[i] = static_cast<double>(take<float>(bytes, i));
        break;
      case DType::bf16:
        v[i] = static_cast<double>(bf16_to_f32(take<uint16_t>(bytes, i)));
        break;
      case DType::f16:
        v[i] = static_cast<double>(f16_to_f32(take<uint16_t>(bytes, i)));
        break;
      case DType::i64:
        v[i] = static_cast<double>(take<int64_t>(bytes, i));
        break;
      case DType::i32:
        v[i] = take<int32_t>(bytes, i);
        break;
      case DType::i8:
        v[i] = take<int8_t>(bytes, i);
        break;
      case DType::u8:
        v[i] = take<uint8_t>(bytes, i);
        break;
      case DType::boolean:
        v[i] = take<uint8_t>(bytes, i) != 0;
        break;
    }
  return v;
}

Result<Outcome> interpret(const Program& program, const Backend& backend, const Tensors& given,
                          const InterpretOptions& options) {
  Program p = HONE_TRY(lower(program, backend));
  if (runs_programs_only(p, backend)) return run_whole(p, backend, given);
  Interpreter run(p, backend, options);
  for (const Named& n : p.inputs) HONE_TRY(run.give(n.name, n.value, given));
  for (const State& s : p.states) HONE_TRY(run.give(s.name, s.value, given));
  for (size_t i = 0; i < p.nodes.size(); ++i) HONE_TRY(run.step(i));
  Outcome o;
  for (const Named& n : p.outputs) o.outputs[n.name] = run.tensor(n.value);
  for (const State& s : p.states)
    o.states[s.name] = run.tensor(s.next == kNoValue ? s.value : s.next);
  o.broken = std::move(run.broken);
  return o;
}

}  // namespace hone
