#include "engine/backends/reference/reference.h"

#include "engine/backends/reference/numbers.h"
#include "engine/device/errors.h"
#include "engine/device/host_device.h"
#include "engine/device/rank_kernels.h"

namespace hone {
namespace reference {
namespace {

// Out-of-range values are clamped, so that a test shows a wrong number instead of undefined
// behaviour.
template <class T>
T to_integer(double x) {
  if (std::isnan(x)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  return x <= low    ? std::numeric_limits<T>::min()
         : x >= high ? std::numeric_limits<T>::max()
                     : static_cast<T>(x);
}

template <class T, class F>
void read(const void* data, Numbers& to, F&& number) {
  const T* from = static_cast<const T*>(data);
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(number(from[i]));
}
template <class T, class F>
void write(const Numbers& from, void* data, F&& element) {
  T* to = static_cast<T*>(data);
  for (size_t i = 0; i < from.size(); ++i) to[i] = element(from[i]);
}

}  // namespace

Numbers load(const void* data, const Type& type) {
  Numbers v(static_cast<size_t>(type.count()));
  auto same = [](auto x) { return x; };
  switch (type.dtype) {
    case DType::f64:
      read<double>(data, v, same);
      break;
    case DType::f32:
      read<float>(data, v, same);
      break;
    case DType::bf16:
      read<uint16_t>(data, v, bf16_to_f32);
      break;
    case DType::f16:
      read<uint16_t>(data, v, f16_to_f32);
      break;
    case DType::i64:
      read<int64_t>(data, v, same);
      break;
    case DType::i32:
      read<int32_t>(data, v, same);
      break;
    case DType::i8:
      read<int8_t>(data, v, same);
      break;
    case DType::u8:
      read<uint8_t>(data, v, same);
      break;
    case DType::boolean:
      read<uint8_t>(data, v, [](uint8_t x) { return x != 0; });
      break;
  }
  return v;
}

void store(const Numbers& v, void* data, const Type& type) {
  switch (type.dtype) {
    case DType::f64:
      write<double>(v, data, [](double x) { return x; });
      break;
    case DType::f32:
      write<float>(v, data, [](double x) { return static_cast<float>(x); });
      break;
    case DType::bf16:
      write<uint16_t>(v, data, [](double x) { return f32_to_bf16(static_cast<float>(x)); });
      break;
    case DType::f16:
      write<uint16_t>(v, data, [](double x) { return f32_to_f16(static_cast<float>(x)); });
      break;
    case DType::i64:
      write<int64_t>(v, data, to_integer<int64_t>);
      break;
    case DType::i32:
      write<int32_t>(v, data, to_integer<int32_t>);
      break;
    case DType::i8:
      write<int8_t>(v, data, to_integer<int8_t>);
      break;
    case DType::u8:
      write<uint8_t>(v, data, to_integer<uint8_t>);
      break;
    case DType::boolean:
      write<uint8_t>(v, data, [](double x) { return static_cast<uint8_t>(x != 0); });
      break;
  }
}

std::vector<int64_t> strides_of(const Shape& s) {
  std::vector<int64_t> strides(s.size(), 1);
  for (size_t i = s.size(); i-- > 1;) strides[i - 1] = strides[i] * s[i];
  return strides;
}

namespace {

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend() {
    add_elementwise(table_);
    add_shapes(table_);
    add_sums(table_);
    add_groups(table_);
    add_random(table_);
    add_dynamic_codes(table_);
    add_blocks(table_);
    add_recurrent(table_);
  }
  std::string_view name() const override { return "reference"; }

  Result<Choice> choose(const NodeView& n) const override {
    if (!n.node.op->traffic) return Backend::choose(n);
    return rank_choice(n);
  }
  Result<Kernel> kernel(const NodeView& n) const override {
    if (n.node.op->traffic) return rank_kernel(n, &device_);
    auto it = table_.find(n.node.op->name);
    if (it == table_.end())
      return Error(err::kDeclined, fmt::format("{} is not a primitive", n.node.op->name));
    Call call{{}, {}, n.attrs()};
    for (size_t i = 0; i < n.inputs(); ++i) call.in.push_back(n.has(i) ? n.in(i) : Type{});
    for (size_t i = 0; i < n.node.out.size(); ++i) call.out.push_back(n.out(i));
    const Function& f = it->second;
    return Kernel{"reference." + n.node.op->name, 0,
                  [call, &f](const KernelArgs& args) { f(call, args); }};
  }
  Device& device() const override { return device_; }
  std::string description() const override { return "plain loops in double precision, one thread"; }

 private:
  mutable HostDevice device_{host_spec("reference", 1)};
  Table table_;
};

}  // namespace
}  // namespace reference

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<reference::ReferenceBackend>();
}

const Backend& reference_backend() {
  static const reference::ReferenceBackend backend;
  return backend;
}

}  // namespace hone
