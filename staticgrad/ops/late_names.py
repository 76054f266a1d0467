"""Made by `python -m tools.stubs`: the names of modules that are imported when one of these names is first asked for.

Letters say what a name is: r, an op; f, a public function; m, a method; i, a method with "_" as well; s, a function of
`staticgrad.special`. So `cumsum:rfmi` is all but the last.
"""

NAMES = {
    "eager.windows": "bartlett_window:f blackman_window:f hamming_window:f hann_window:f kaiser_window:f",
    "ops.attention": "attention:r attention_gradient:r attention_softmax:r",
    "ops.complex_numbers": (
        "angle:fm complex:rf conj:rfm conj_physical:fmi imag:rf isreal:fm polar:f real:rf resolve_conj:fm resolve_neg:fm "
        "sgn:rfmi view_as_complex:rf view_as_complex_copy:f view_as_real:rf view_as_real_copy:f"
    ),
    "ops.control.records": "branch:r loop:r result:r",
    "ops.control.scan": "scan:f",
    "ops.control.while_loop": "cond:f while_loop:f",
    "ops.convolution": "conv2d:r conv2d_input:r conv2d_weight:r",
    "ops.cumulative": (
        "cummax:fm cummax_index:r cummin:fm cummin_index:r cumprod:rfmi cumsum:rfmi linear_recurrence:r logcumsumexp:rfm "
        "prod:rfm"
    ),
    "ops.custom_gradient": "custom_call:r custom_output:r decision:r python_call:r watch:r",
    "ops.data_dependent": (
        "argwhere:fm bincount:fm histc:rfm histogram:fm histogramdd:f masked_select:fm nonzero:fm nonzero_static:rfm unique:fm "
        "unique_consecutive:fm"
    ),
    "ops.deferred": "deferred:r",
    "ops.fourier": "fft_c2c:r fft_c2r:r fft_r2c:r istft:fm stft:fm",
    "ops.joining": (
        "atleast_1d:f atleast_2d:f atleast_3d:f block_diag:f cat:f chunk:fm column_stack:f concat:f concatenate:rf dsplit:fm "
        "dstack:f hsplit:fm hstack:f narrow:fm part:r row_stack:f select:fm split:fm split_with_sizes:fm stack:f "
        "tensor_split:fm unbind:fm unsafe_chunk:fm unsafe_split:fm unsafe_split_with_sizes:fm vsplit:fm vstack:f"
    ),
    "ops.linear_algebra.decompositions": (
        "linalg_eig:r linalg_eigh:r linalg_eigvals:r linalg_eigvalsh:r linalg_qr:r linalg_svd:r linalg_svdvals:r qr:fm svd:fm"
    ),
    "ops.linear_algebra.matrix_functions": "linalg_lstsq:r linalg_matrix_exp:r linalg_pinv:r matrix_exp:fm pinverse:fm",
    "ops.linear_algebra.products": (
        "addbmm:fmi addmm:fmi addmv:fmi addr:fmi baddbmm:fmi bmm:fm cdist:f chain_matmul:f cross:fm dist:fm einsum:f ger:fm "
        "inner:fm lobpcg:f matrix_power:fm mm:fm mv:fm norm:fm pca_lowrank:f renorm:fmi spmm:fm svd_lowrank:f tensordot:f "
        "trace:fm vdot:fm"
    ),
    "ops.linear_algebra.triangular_factors": (
        "cholesky:fm cholesky_inverse:fm cholesky_solve:fm det:fm geqrf:fm linalg_apply_lu:r linalg_cholesky:r "
        "linalg_cholesky_inverse:r linalg_cofactor:r linalg_det:r linalg_geqrf:r linalg_ldl_factor:r linalg_ldl_solve:r "
        "linalg_lu_factor:r linalg_slogdet:r logdet:fm lu:fm lu_order:r lu_solve:fm lu_unpack:f orgqr:fm ormqr:fm slogdet:fm"
    ),
    "ops.linear_algebra.triangular_systems": (
        "inverse:fm linalg_inv:r linalg_regular:r linalg_solve:r linalg_solve_triangular:r triangular_solve:fm"
    ),
    "ops.ordering": (
        "aminmax:fm argsort:rfm bucketize:f isin:f kthvalue:fm max:fm median:rfm median_index:r min:fm mode:fm mode_index:r "
        "msort:fm nanmedian:rfm nanmedian_index:r nanquantile:fm quantile:fm searchsorted:rf sort:fm topk:fm topk_index:r"
    ),
    "ops.placing": (
        "as_strided_scatter:fm diagonal_scatter:fm fill:fm gather:fm index_copy:rfmi index_fill:fmi index_put:fmi "
        "index_reduce:fmi index_select:fm masked_scatter:fmi put:fmi scatter:fmi scatter_add:fmi scatter_reduce:fmi "
        "select_scatter:fm slice_scatter:fm take_along_dim:fm"
    ),
    "ops.pooling": "avg_pool2d:r avg_pool2d_put:r max_pool2d:r max_pool2d_put:r max_pool2d_take:r",
    "ops.rearranging": (
        "adjoint:fm broadcast_shapes:f broadcast_tensors:f cartesian_prod:f combinations:f expand_as:fm fliplr:fm flipud:fm "
        "meshgrid:f moveaxis:fm movedim:fm ravel:fm repeat:fm repeat_interleave:fm reshape_as:fm roll:fm rot90:fm "
        "sum_to_size:fm t:fm tile:fm unflatten:fm unravel_index:f view_as:fm"
    ),
    "ops.scatter_reductions": "recurrence_at:r scatter_reduce:r",
    "ops.selection": "clamp:fmi clip:rfmi masked_fill:fmi where:rf",
    "ops.sized": "counted:r lexicographic:r nonzero:r positions:r repeated:r sliced:r",
    "ops.sparse": "sparse_coo_tensor:f sparse_mask:m to_sparse:m to_sparse_coo:m",
    "ops.special_functions": (
        "airy_ai:rs bessel_j0:rs bessel_j1:rs bessel_y0:rs bessel_y1:rs chebyshev_polynomial_t:rs chebyshev_polynomial_u:rs "
        "chebyshev_polynomial_v:rs chebyshev_polynomial_w:rs entr:rs hermite_polynomial_h:rs hermite_polynomial_he:rs "
        "laguerre_polynomial_l:rs legendre_polynomial_p:rs modified_bessel_i0:rs modified_bessel_i1:rs modified_bessel_k0:rs "
        "modified_bessel_k1:rs scaled_modified_bessel_k0:rs scaled_modified_bessel_k1:rs shifted_chebyshev_polynomial_t:rs "
        "shifted_chebyshev_polynomial_u:rs shifted_chebyshev_polynomial_v:rs shifted_chebyshev_polynomial_w:rs "
        "spherical_bessel_j0:rs xlog1py:rs"
    ),
    "ops.statistics": "corrcoef:fm count_nonzero:fm cov:fm nanmean:fm nansum:fm std:fm std_mean:f var:fm var_mean:f",
    "ops.strided_views": (
        "alias_copy:f as_strided:fm as_strided_copy:f cumulative_trapezoid:f detach_copy:f diag:fm diag_embed:fm diagflat:fm "
        "diagonal:rfm diagonal_copy:f diff:fm expand_copy:f gradient:f kron:fm narrow_copy:fm permute_copy:f select_copy:f "
        "slice_copy:f split_copy:f split_with_sizes_copy:f squeeze_copy:f t_copy:f transpose_copy:f trapezoid:f trapz:f "
        "tril:fmi tril_indices:f triu:fmi triu_indices:f unbind_copy:f unfold:rfm unfold_copy:f unsqueeze_copy:f vander:f "
        "view_copy:f"
    ),
}
