// Modules and kernel launches of the fake driver. Accesses are noted for the race check.
#include <cstring>

#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

Function* function_of(FakeState& s, CUfunction handle) {
  Function* f = s.functions.find(handle);
  if (f == nullptr) {
    s.find("uses a function that no module has");
    return nullptr;
  }
  s.kernel = f->code->name;
  if (!f->module->unloaded) return f;
  s.find("uses a function of a module that was unloaded");
  return nullptr;
}

// Hides all bytes of the device but those that are noted, and finds what was written beside those
// that may be written.
class Notes {
 public:
  Notes(FakeState& s, std::span<const Access> accesses) : state_(s) {
    for (const auto& [at, b] : s.blocks.all()) {
      if (!b.device || b.freed_by != 0) continue;
      const auto size = static_cast<size_t>(b.bytes);
      Held held{&b, {b.data, b.data + size}, std::vector<char>(size, kHidden)};
      for (const bool writes : {false, true})
        for (const Access& a : accesses)
          if (a.writes == writes && a.bytes > 0 && b.has(a.at, a.bytes))
            std::fill_n(held.how.begin() + (static_cast<const std::byte*>(a.at) - b.data), a.bytes,
                        writes ? kWritten : kRead);
      for (size_t i = 0; i < size; ++i)
        if (held.how[i] == kHidden) b.data[i] = std::byte{0xff};
      held_.push_back(std::move(held));
    }
  }
  // After the kernel.
  void check(const std::string& where) {
    for (const Held& h : held_) {
      std::byte* now = h.block->data;
      bool is_found = false;
      for (size_t i = 0; i < h.before.size(); ++i) {
        const std::byte expected = h.how[i] == kHidden ? std::byte{0xff} : h.before[i];
        if (h.how[i] != kWritten && now[i] != expected && !is_found) {
          state_.find_at(where, fmt::format("writes byte {} of {}, which it does not note", i,
                                            h.block->text()));
          is_found = true;
        }
        if (h.how[i] == kHidden) now[i] = h.before[i];
      }
    }
  }

 private:
  static constexpr char kHidden = 0, kRead = 1, kWritten = 2;
  struct Held {
    const Block* block;
    std::vector<std::byte> before;
    std::vector<char> how;
  };
  FakeState& state_;
  std::vector<Held> held_;
};

// Whether what an argument of the size of an address says is in no block, or in bytes that are
// noted.
bool is_noted(FakeState& s, const void* argument, std::span<const Access> accesses) {
  const std::byte* at = nullptr;
  std::memcpy(&at, argument, sizeof at);
  const Block* b = s.blocks.find(at);
  if (b == nullptr) return true;
  for (const Access& a : accesses) {
    const auto* first = static_cast<const std::byte*>(a.at);
    if (at >= first && at < first + std::max<int64_t>(a.bytes, 1)) return b->freed_by == 0;
  }
  s.find(fmt::format("gets the address of byte {} of {}, which it does not note", at - b->data,
                     b->text()));
  return false;
}

CUresult launch(FakeState& s, CUfunction handle, emulate::Grid grid, CUstream stream,
                void** arguments) {
  const std::vector<Access> accesses = take_noted(s);
  const Function* f = function_of(s, handle);
  Stream* on = s.stream(stream);
  if (f == nullptr || on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto product = [](emulate::Dim3 d) { return uint64_t{d.x} * d.y * d.z; };
  const bool fits = grid.grid.x <= 0x7fffffffu && grid.grid.y <= 0xffff && grid.grid.z <= 0xffff &&
                    product(grid.block) <= 1024 && grid.block.z <= 64;
  if (!fits || product(grid.grid) == 0 || product(grid.block) == 0) {
    s.find(fmt::format("has a grid of {} x {} x {} blocks of {} x {} x {} threads", grid.grid.x,
                       grid.grid.y, grid.grid.z, grid.block.x, grid.block.y, grid.block.z));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (grid.shared_bytes > std::max(f->shared_bytes, kSharedBytes)) {
    s.find(fmt::format("asks for {} bytes of shared memory, and {} are allowed", grid.shared_bytes,
                       std::max(f->shared_bytes, kSharedBytes)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (accesses.empty()) s.find("launches a kernel and notes no accesses");
  for (const Access& a : accesses)
    if (a.bytes > 0 && s.block(a.at, a.bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < f->code->argument_bytes.size(); ++i)
    if (f->code->argument_bytes[i] == sizeof(void*) && !is_noted(s, arguments[i], accesses))
      return CUDA_ERROR_INVALID_VALUE;

  // The call keeps the values of the arguments.
  size_t end = 0;
  std::vector<size_t> at;
  for (const size_t bytes : f->code->argument_bytes) {
    at.push_back(end);
    end += (bytes + 15) / 16 * 16;
  }
  std::vector<std::byte> values(end);
  for (size_t i = 0; i < at.size(); ++i)
    std::memcpy(values.data() + at[i], arguments[i], f->code->argument_bytes[i]);
  grid.order = s.options.threads;
  s.queue(*on, accesses,
          [&s, grid, code = f->code, at = std::move(at), values = std::move(values), accesses,
           where = s.where()]() mutable {
            std::vector<void*> pointers;
            for (const size_t offset : at) pointers.push_back(values.data() + offset);
            std::optional<Notes> notes;
            if (s.options.checks_notes) notes.emplace(s, accesses);
            emulate::run_grid(grid, [&] { code->run(pointers.data()); });
            if (notes) notes->check(where);
          });
  return CUDA_SUCCESS;
}

}  // namespace

void add_launch_functions(Driver& t) {
  t.cuModuleLoadData = [](CUmodule* module, const void* image) {
    return enter("cuModuleLoadData", [&](FakeState& s) {
      s.not_in_step("loads a module");
      if (std::strcmp(static_cast<const char*>(image), kEmulatedImage) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
      Module& m = s.modules.add();
      m.number = static_cast<int64_t>(s.modules.all().size());
      *module = reinterpret_cast<CUmodule>(&m);
      return CUDA_SUCCESS;
    });
  };
  t.cuModuleUnload = [](CUmodule module) {
    return enter("cuModuleUnload", [&](FakeState& s) {
      Module* m = s.modules.find(module);
      if (m == nullptr || m->unloaded) {
        s.find("unloads a module that is not loaded");
        return CUDA_ERROR_INVALID_HANDLE;
      }
      m->unloaded = true;
      return CUDA_SUCCESS;
    });
  };
  t.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char* name) {
    return enter("cuModuleGetFunction", [&](FakeState& s) {
      Module* m = s.modules.find(module);
      if (m == nullptr || m->unloaded) {
        s.find("uses a module that is not loaded");
        return CUDA_ERROR_INVALID_HANDLE;
      }
      const emulate::Function* code = emulate::find_function(name);
      if (code == nullptr) return CUDA_ERROR_NOT_FOUND;
      Function& f = s.functions.add();
      f.code = code;
      f.module = m;
      *function = reinterpret_cast<CUfunction>(&f);
      return CUDA_SUCCESS;
    });
  };
  t.cuFuncSetAttribute = [](CUfunction function, CUfunction_attribute, int value) {
    return enter("cuFuncSetAttribute", [&](FakeState& s) {
      Function* f = function_of(s, function);
      if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (value > most_shared_bytes(s.options.capability_major, s.options.capability_minor))
        return CUDA_ERROR_INVALID_VALUE;
      f->shared_bytes = value;
      return CUDA_SUCCESS;
    });
  };
  t.cuLaunchKernel = [](CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void**) {
    return enter("cuLaunchKernel", [&](FakeState& s) {
      const emulate::Grid grid{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
      return launch(s, function, grid, stream, arguments);
    });
  };
}

}  // namespace hone::cuda::fake
