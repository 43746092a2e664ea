#include "engine/backends/cuda/libraries/blas.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/backends/cuda/libraries/errors.h"
#include "engine/backends/cuda/libraries/library.h"

namespace hone::cuda {
namespace {

// On Hopper a workspace has to begin at a multiple of this; values in an arena begin at multiples
// of 64.
constexpr int64_t kWorkspaceAlignment = 256;
int64_t usable_bytes(int64_t workspace_bytes) {
  return std::max<int64_t>(0, workspace_bytes - (kWorkspaceAlignment - 1));
}

constexpr const char* kBlasNames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};

Error no_blas(const std::string& text) {
  return Error(err::kNoBlas, text)
      .todo(
          "make cuda; or install the CUDA toolkit, or the wheel nvidia-cublas and set "
          "HONE_CUBLASLT to its libcublasLt.so");
}

Status status_of(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Ok{};
  return Error(err::kCudaFails,
               fmt::format("{} failed (cuBLAS status {})", what, static_cast<int>(status)));
}

// cuBLASLt has matrices by columns: a row-major matrix is its own transpose there.
Result<std::shared_ptr<cublasLtMatrixLayoutOpaque_t>> layout_of(const Blas& blas, cudaDataType type,
                                                                int64_t rows, int64_t columns,
                                                                int64_t row_step, int64_t batches) {
  if (row_step == 0) row_step = columns;
  cublasLtMatrixLayout_t layout = nullptr;
  HONE_TRY(status_of(blas.cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(columns),
                                                     static_cast<uint64_t>(rows), row_step),
                     "cublasLtMatrixLayoutCreate"));
  std::shared_ptr<cublasLtMatrixLayoutOpaque_t> made(layout, blas.cublasLtMatrixLayoutDestroy);
  const auto count = static_cast<int32_t>(batches);
  const int64_t step = rows * row_step;
  HONE_TRY(status_of(blas.cublasLtMatrixLayoutSetAttribute(
                         layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                     "cublasLtMatrixLayoutSetAttribute"));
  HONE_TRY(status_of(blas.cublasLtMatrixLayoutSetAttribute(
                         layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step),
                     "cublasLtMatrixLayoutSetAttribute"));
  return made;
}

// Sets the epilogue: bias, activation, slope, sums. The choice of an algorithm looks at how the addresses are aligned.
template <class Set>
Status set_epilogue(const LibraryProduct& p, const Set& set) {
  const int epilogue =
      (p.has_bias ? CUBLASLT_EPILOGUE_BIAS : 0) | (p.gelu ? CUBLASLT_EPILOGUE_GELU : 0) |
      (p.slope ? CUBLASLT_EPILOGUE_DGELU : 0) | (p.sums ? CUBLASLT_EPILOGUE_BGRAD : 0) |
      (p.keeps_pre || p.slope ? CUBLASLT_EPILOGUE_AUX : 0);
  if (epilogue != 0)
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(epilogue)));
  const auto somewhere = static_cast<uintptr_t>(p.alignment);
  if (p.has_bias || p.sums) {
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p.result));
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, somewhere));
  }
  if (p.keeps_pre || p.slope) {
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, somewhere));
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.n));
    HONE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, p.m * p.n));
  }
  return Ok{};
}

}  // namespace

Result<Blas> load_blas(int newest_major) {
  std::string why;
  const std::optional<Module> library =
      load_library("HONE_CUBLASLT", kBlasNames, newest_major, why);
  if (!library) return no_blas(why);
  Blas blas;
#define HONE_BLAS(name, arguments)                                 \
  blas.name = library->symbol<cublasStatus_t(*) arguments>(#name); \
  if (blas.name == nullptr) return no_blas("libcublasLt.so has no " #name);
#include "engine/backends/cuda/libraries/blas.def"
#undef HONE_BLAS
  return blas;
}

Result<LtHandle> LtHandle::open(const Blas& blas) {
  LtHandle h;
  h.blas_ = std::make_shared<const Blas>(blas);
  cublasLtHandle_t handle = nullptr;
  HONE_TRY(status_of(blas.cublasLtCreate(&handle), "cublasLtCreate"));
  h.handle_ = {handle, blas.cublasLtDestroy};
  return h;
}

std::string LtHandle::version() const {
  int parts[3] = {};
  for (const libraryPropertyType p : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL})
    blas_->cublasLtGetProperty(p, &parts[p]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

// zT [n,m] = yT xT, so cuBLASLt's A is y and its B is x.
Result<LtProduct> LtProduct::make(const LtHandle& handle, const LibraryProduct& p, Algorithms& kept,
                                  const ProductTimer& timer) {
  const Blas& blas = handle.blas();
  LtProduct made;
  made.handle_ = handle;
  made.p_ = p;
  const bool in_f64 = p.type == CUDA_R_64F;
  cublasLtMatmulDesc_t desc = nullptr;
  HONE_TRY(status_of(
      blas.cublasLtMatmulDescCreate(&desc, in_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                    in_f64 ? CUDA_R_64F : CUDA_R_32F),
      "cublasLtMatmulDescCreate"));
  made.desc_ = {desc, blas.cublasLtMatmulDescDestroy};
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    return status_of(blas.cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
  };
  HONE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_y ? CUBLAS_OP_T : CUBLAS_OP_N));
  HONE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_x ? CUBLAS_OP_T : CUBLAS_OP_N));
  HONE_TRY(set_epilogue(p, set));
  made.a_ = HONE_TRY(
      layout_of(blas, p.type, p.trans_y ? p.n : p.k, p.trans_y ? p.k : p.n, p.step_y, p.batches));
  made.b_ = HONE_TRY(
      layout_of(blas, p.type, p.trans_x ? p.k : p.m, p.trans_x ? p.m : p.k, p.step_x, p.batches));
  made.d_ = HONE_TRY(layout_of(blas, p.result, p.m, p.n, p.step_z, p.batches));

  cublasLtMatmulHeuristicResult_t best{};
  const std::string name = p.text();
  if (const cublasLtMatmulAlgo_t* algorithm = kept.find(name)) {
    const cublasStatus_t checked =
        blas.cublasLtMatmulAlgoCheck(handle.get(), desc, made.a_.get(), made.b_.get(),
                                     made.d_.get(), made.d_.get(), algorithm, &best);
    if (checked == CUBLAS_STATUS_SUCCESS && best.state == CUBLAS_STATUS_SUCCESS &&
        best.workspaceSize <= static_cast<size_t>(usable_bytes(p.workspace_bytes))) {
      made.algorithm_ = *algorithm;
      return made;
    }
  }
  made.algorithm_ = HONE_TRY(made.choose(timer));
  kept.add(name, made.algorithm_);
  return made;
}

Result<cublasLtMatmulAlgo_t> LtProduct::choose(const ProductTimer& timer) {
  const Blas& blas = handle_.blas();
  cublasLtMatmulPreference_t preference = nullptr;
  HONE_TRY(status_of(blas.cublasLtMatmulPreferenceCreate(&preference),
                     "cublasLtMatmulPreferenceCreate"));
  const std::shared_ptr<cublasLtMatmulPreferenceOpaque_t> owner(
      preference, blas.cublasLtMatmulPreferenceDestroy);
  const auto workspace = static_cast<uint64_t>(usable_bytes(p_.workspace_bytes));
  const auto alignment = static_cast<uint32_t>(p_.alignment);
  HONE_TRY(status_of(
      blas.cublasLtMatmulPreferenceSetAttribute(
          preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace),
      "cublasLtMatmulPreferenceSetAttribute"));
  for (const auto side :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    HONE_TRY(status_of(
        blas.cublasLtMatmulPreferenceSetAttribute(preference, side, &alignment, sizeof alignment),
        "cublasLtMatmulPreferenceSetAttribute"));
  if (p_.result != CUDA_R_32F && p_.result != CUDA_R_64F) {  // parts of k are summed in f32
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    HONE_TRY(status_of(
        blas.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions),
        "cublasLtMatmulPreferenceSetAttribute"));
  }
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
  int found = 0;
  HONE_TRY(status_of(blas.cublasLtMatmulAlgoGetHeuristic(
                         handle_.get(), desc_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                         preference, timer ? kCandidates : 1, results.data(), &found),
                     "cublasLtMatmulAlgoGetHeuristic"));
  const auto end = std::remove_if(results.begin(), results.begin() + found,
                                  [](const auto& r) { return r.state != CUBLAS_STATUS_SUCCESS; });
  if (end == results.begin())
    return Error(err::kCudaFails, fmt::format("cuBLASLt has no algorithm for {} x {} by {} x {}",
                                              p_.m, p_.k, p_.k, p_.n));
  cublasLtMatmulAlgo_t best = results[0].algo;
  double best_s = std::numeric_limits<double>::infinity();
  for (auto r = results.begin(); timer && r != end; ++r) {
    algorithm_ = r->algo;
    const Result<double> seconds = timer(*this);
    if (!seconds.ok() || *seconds >= best_s) continue;
    best = r->algo;
    best_s = *seconds;
  }
  return best;
}

cublasStatus_t LtProduct::run(CUstream stream, const Operands& o) const {
  const Blas& blas = handle_.blas();
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* address) {
    return blas.cublasLtMatmulDescSetAttribute(desc_.get(), attribute, &address, sizeof address);
  };
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (p_.has_bias || p_.sums) status = set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias);
  if ((p_.keeps_pre || p_.slope) && status == CUBLAS_STATUS_SUCCESS)
    status = set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, o.pre);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const bool in_f64 = p_.type == CUDA_R_64F;
  const void* alpha = in_f64 ? static_cast<const void*>(&one64) : &one;
  const void* beta = in_f64 ? static_cast<const void*>(p_.has_onto ? &one64 : &zero64)
                            : (p_.has_onto ? &one : &zero);
  const auto at = reinterpret_cast<uintptr_t>(o.workspace), unit = uintptr_t{kWorkspaceAlignment};
  void* workspace = reinterpret_cast<void*>((at + unit - 1) / unit * unit);
  return blas.cublasLtMatmul(handle_.get(), desc_.get(), alpha, o.y, a_.get(), o.x, b_.get(), beta,
                             p_.has_onto ? o.onto : o.z, d_.get(), o.z, d_.get(), &algorithm_,
                             workspace, static_cast<size_t>(usable_bytes(p_.workspace_bytes)),
                             stream);
}

}  // namespace hone::cuda
