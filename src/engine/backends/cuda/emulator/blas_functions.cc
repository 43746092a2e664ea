// cuBLASLt on the fake driver's streams: products by three loops, in the order of k.
#include <cmath>
#include <cstring>

#include "engine/backends/cuda/emulator/fake_blas.h"
#include "engine/backends/cuda/emulator/state.h"
#include "engine/graph/type.h"

namespace hone::cuda {
namespace fake {
namespace {

struct Desc {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cudaDataType bias_type = CUDA_R_32F;
  const void* bias = nullptr;
  void* aux = nullptr;
  int64_t aux_step = 0, aux_stride = 0;
  bool has(int bit) const { return (epilogue & bit) != 0; }
};
struct Layout {
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0, columns = 0, step = 0, stride = 0;
  int32_t batches = 1;
  int64_t elements() const { return (batches - 1) * stride + (columns - 1) * step + rows; }
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

template <class Made, class Handle>
Made* of(Handle handle) {
  return reinterpret_cast<Made*>(handle);
}
template <class T>
void set(T& to, const void* value, size_t bytes) {
  if (bytes == sizeof to) std::memcpy(&to, value, bytes);
}

int64_t bytes_of(cudaDataType t) { return t == CUDA_R_64F ? 8 : t == CUDA_R_32F ? 4 : 2; }
double get(const void* data, cudaDataType t, int64_t i) {
  const auto half = [&] { return static_cast<const uint16_t*>(data)[i]; };
  switch (t) {
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_R_32F:
      return static_cast<double>(static_cast<const float*>(data)[i]);
    case CUDA_R_16F:
      return static_cast<double>(f16_to_f32(half()));
    default:
      return static_cast<double>(bf16_to_f32(half()));
  }
}
void put(void* data, cudaDataType t, int64_t i, double x) {
  if (t == CUDA_R_64F)
    static_cast<double*>(data)[i] = x;
  else if (t == CUDA_R_32F)
    static_cast<float*>(data)[i] = static_cast<float>(x);
  else
    static_cast<uint16_t*>(data)[i] =
        t == CUDA_R_16F ? f32_to_f16(static_cast<float>(x)) : f32_to_bf16(static_cast<float>(x));
}

struct Call {
  Desc desc;
  const void *a, *b, *c;
  void* d;
  Layout la, lb, lc, ld;
  double alpha, beta;
};

// The slope of the gelu by tanh.
template <class W>
W gelu_slope(W x) {
  const W k = static_cast<W>(0.79788456), c = static_cast<W>(0.044715);
  const W t = std::tanh(k * (x + c * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * c * x * x);
}

// W: float or double, in which is summed.
template <class W>
void multiply(const Call& x) {
  const int64_t inner = x.desc.trans_a == CUBLAS_OP_T ? x.la.rows : x.la.columns;
  const auto at = [](const Layout& l, bool trans, int64_t batch, int64_t row, int64_t column) {
    return batch * l.stride + (trans ? row * l.step + column : column * l.step + row);
  };
  std::vector<W> row_sums(static_cast<size_t>(x.ld.rows), 0);  // of one matrix by columns
  for (int64_t batch = 0; batch < x.ld.batches; ++batch)
    for (int64_t j = 0; j < x.ld.columns; ++j)
      for (int64_t i = 0; i < x.ld.rows; ++i) {
        W sum = 0;
        for (int64_t l = 0; l < inner; ++l)
          sum += static_cast<W>(
                     get(x.a, x.la.type, at(x.la, x.desc.trans_a == CUBLAS_OP_T, batch, i, l))) *
                 static_cast<W>(
                     get(x.b, x.lb.type, at(x.lb, x.desc.trans_b == CUBLAS_OP_T, batch, l, j)));
        sum *= static_cast<W>(x.alpha);
        if (x.beta != 0)
          sum += static_cast<W>(x.beta * get(x.c, x.lc.type, at(x.lc, false, batch, i, j)));
        if (x.desc.has(CUBLASLT_EPILOGUE_BIAS))
          sum += static_cast<W>(get(x.desc.bias, x.desc.bias_type, i));
        const int64_t aux = batch * x.desc.aux_stride + j * x.desc.aux_step + i;
        if (x.desc.has(CUBLASLT_EPILOGUE_DGELU))
          sum *= gelu_slope(static_cast<W>(get(x.desc.aux, x.ld.type, aux)));
        else if (x.desc.has(CUBLASLT_EPILOGUE_AUX))
          put(x.desc.aux, x.ld.type, aux, static_cast<double>(sum));
        if (x.desc.has(CUBLASLT_EPILOGUE_GELU)) {
          const W inner = static_cast<W>(0.79788456) * (sum + W(0.044715) * sum * sum * sum);
          sum = sum / 2 * (1 + std::tanh(inner));
        }
        row_sums[static_cast<size_t>(i)] += sum;
        put(x.d, x.ld.type, at(x.ld, false, batch, i, j), static_cast<double>(sum));
      }
  if (x.desc.has(CUBLASLT_EPILOGUE_BGRAD))
    for (int64_t i = 0; i < x.ld.rows; ++i)
      put(const_cast<void*>(x.desc.bias), x.desc.bias_type, i,
          static_cast<double>(row_sums[static_cast<size_t>(i)]));
}

cublasStatus_t queue_product(FakeState& s, Call call, void* workspace, size_t workspace_bytes,
                             CUstream stream) {
  Stream* on = s.stream(stream);
  if (on == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  std::vector<Access> accesses{{call.a, call.la.elements() * bytes_of(call.la.type), false},
                               {call.b, call.lb.elements() * bytes_of(call.lb.type), false},
                               {call.d, call.ld.elements() * bytes_of(call.ld.type), true},
                               {workspace, static_cast<int64_t>(workspace_bytes), true}};
  if (call.beta != 0)
    accesses.push_back({call.c, call.lc.elements() * bytes_of(call.lc.type), false});
  if (call.desc.has(CUBLASLT_EPILOGUE_AUX))
    accesses.push_back({call.desc.aux, call.ld.elements() * bytes_of(call.ld.type),
                        !call.desc.has(CUBLASLT_EPILOGUE_DGELU)});
  if (call.desc.has(CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRAD))
    accesses.push_back({call.desc.bias, call.ld.rows * bytes_of(call.desc.bias_type),
                        call.desc.has(CUBLASLT_EPILOGUE_BGRAD)});
  if (workspace_bytes > 0 && reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return CUBLAS_STATUS_INVALID_VALUE;  // as on Hopper
  for (const Access& a : accesses)
    if (a.bytes > 0 && s.block(a.at, a.bytes) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  s.queue(*on, accesses, [call] {
    call.desc.compute == CUBLAS_COMPUTE_64F ? multiply<double>(call) : multiply<float>(call);
  });
  return CUBLAS_STATUS_SUCCESS;
}

bool is_algorithm(const cublasLtMatmulAlgo_t& a) { return a.data[0] > 0 && a.data[0] < 100; }

bool fits(const Desc& d, const Layout& a, const Layout& b, const Layout& c) {
  const bool ta = d.trans_a == CUBLAS_OP_T, tb = d.trans_b == CUBLAS_OP_T;
  return a.type == b.type && (ta ? a.columns : a.rows) == c.rows &&
         (tb ? b.rows : b.columns) == c.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && a.batches == c.batches &&
         b.batches == c.batches;
}

cublasStatus_t algorithm_of(const Desc& d, const Layout& a, const Layout& b, const Layout& c,
                            int wanted, cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (!fits(d, a, b, c)) return CUBLAS_STATUS_INVALID_VALUE;
  // As in cuBLASLt, which has no gelu of other forms.
  if (d.has(CUBLASLT_EPILOGUE_GELU | CUBLASLT_EPILOGUE_DGELU) && !fake_blas_has_gelu)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (*found = 0; *found < std::min(wanted, fake_blas_algorithms); ++*found) {
    results[*found] = {};
    results[*found].algo.data[0] = fake_blas_algorithm + static_cast<uint64_t>(*found);
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace fake

Blas fake_blas() {
  using namespace fake;  // NOLINT: its functions
  Blas t;
  t.cublasLtCreate = [](cublasLtHandle_t* h) {
    *h = reinterpret_cast<cublasLtHandle_t>(new int(0));
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtDestroy = [](cublasLtHandle_t h) {
    delete of<int>(h);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* d, cublasComputeType_t c, cudaDataType) {
    *d = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc{.compute = c});
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t d) {
    delete of<Desc>(d);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a,
                                        const void* value, size_t bytes) {
    Desc& desc = *of<Desc>(d);
    if (a == CUBLASLT_MATMUL_DESC_TRANSA) set(desc.trans_a, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_TRANSB) set(desc.trans_b, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_EPILOGUE) set(desc.epilogue, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_BIAS_POINTER) set(desc.bias, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) set(desc.aux, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) set(desc.aux_step, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE) set(desc.aux_stride, value, bytes);
    if (a == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) set(desc.bias_type, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* l, cudaDataType type, uint64_t rows,
                                    uint64_t columns, int64_t step) {
    *l = reinterpret_cast<cublasLtMatrixLayout_t>(
        new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), step});
    return step >= static_cast<int64_t>(rows) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  };
  t.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t l) {
    delete of<Layout>(l);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t l,
                                          cublasLtMatrixLayoutAttribute_t a, const void* value,
                                          size_t bytes) {
    if (a == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) set(of<Layout>(l)->batches, value, bytes);
    if (a == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) set(of<Layout>(l)->stride, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* p) {
    *p = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t p) {
    delete of<Preference>(p);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t p,
                                              cublasLtMatmulPreferenceAttributes_t a,
                                              const void* value, size_t bytes) {
    Preference& kept = *of<Preference>(p);
    if (a == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
      set(kept.workspace, value, bytes);
    else if (a >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
      set(kept.alignment[a - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t d,
                                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                        cublasLtMatmulPreference_t, int wanted,
                                        cublasLtMatmulHeuristicResult_t* results, int* found) {
    return algorithm_of(*of<Desc>(d), *of<Layout>(a), *of<Layout>(b), *of<Layout>(c), wanted,
                        results, found);
  };
  t.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                                 cublasLtMatmulHeuristicResult_t* result) {
    *result = {};
    return is_algorithm(*algorithm) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  };
  t.cublasLtGetProperty = [](libraryPropertyType property, int* value) {
    *value = property == MAJOR_VERSION ? 13 : 0;
    return CUBLAS_STATUS_SUCCESS;
  };
  t.cublasLtMatmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                        const void* a, cublasLtMatrixLayout_t la, const void* b,
                        cublasLtMatrixLayout_t lb, const void* beta, const void* c,
                        cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                        const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                        size_t workspace_bytes, CUstream stream) {
    if (!is_algorithm(*algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
    const Desc& x = *of<Desc>(desc);
    const cudaDataType scale = x.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
    const Call call{x,
                    a,
                    b,
                    c,
                    d,
                    *of<Layout>(la),
                    *of<Layout>(lb),
                    *of<Layout>(lc),
                    *of<Layout>(ld),
                    get(alpha, scale, 0),
                    get(beta, scale, 0)};
    cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
    enter("cublasLtMatmul", [&](FakeState& s) {
      status = queue_product(s, call, workspace, workspace_bytes, stream);
      return status == CUBLAS_STATUS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
    return status;
  };
  return t;
}

}  // namespace hone::cuda
