#include "learn/checkpoint/safetensors/xxh64.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace hone {
namespace {

XXH64_state_t* state_of(const std::unique_ptr<void, void (*)(void*)>& state) {
  return static_cast<XXH64_state_t*>(state.get());
}

}  // namespace

Xxh64::Xxh64()
    : state_(XXH64_createState(),
             [](void* s) { XXH64_freeState(static_cast<XXH64_state_t*>(s)); }) {
  XXH64_reset(state_of(state_), 0);
}
void Xxh64::update(std::span<const std::byte> bytes) {
  XXH64_update(state_of(state_), bytes.data(), bytes.size());
}
uint64_t Xxh64::digest() const { return XXH64_digest(state_of(state_)); }

std::string hex_of(uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace hone
