// The JSON library's templates that json.h declares.
#include "base/core/json.h"

namespace {

template <class T>
void end_value(T* value) {
  if (value == nullptr) return;  // there was no memory for it
  std::destroy_at(value);
  std::allocator<T>().deallocate(value, 1);
}

}  // namespace

#define HONE_JSON_DESTROY(J)                                              \
  template <>                                                             \
  void J::json_value::destroy(nlohmann::detail::value_t t) {              \
    if (t == nlohmann::detail::value_t::object) return end_value(object); \
    if (t == nlohmann::detail::value_t::array) return end_value(array);   \
    if (t == nlohmann::detail::value_t::string) return end_value(string); \
    if (t == nlohmann::detail::value_t::binary) return end_value(binary); \
  }
HONE_JSON_DESTROY(nlohmann::json)
HONE_JSON_DESTROY(nlohmann::ordered_json)
HONE_JSON_MEMBERS(, nlohmann::json)
HONE_JSON_MEMBERS(, nlohmann::ordered_json)
