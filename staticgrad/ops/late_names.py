"""Made by `python -m tools.stubs`: what the modules enter that are imported when something of theirs is first asked for.

Of each module its ops, its public functions, those that are methods, those with a method that ends in "_", and those of
`staticgrad.special`.
"""

RECORDS = {
    "ops.attention": "attention attention_gradient attention_softmax",
    "ops.complex_numbers": "complex conj imag real sgn view_as_complex view_as_real",
    "ops.control.records": "branch loop result",
    "ops.convolution": "conv2d conv2d_input conv2d_weight",
    "ops.cumulative": "cummax_index cummin_index cumprod cumsum linear_recurrence logcumsumexp prod",
    "ops.custom_gradient": "custom_call custom_output decision python_call watch",
    "ops.data_dependent": "histc nonzero_static",
    "ops.deferred": "deferred",
    "ops.fourier": "fft_c2c fft_c2r fft_r2c",
    "ops.joining": "concatenate part",
    "ops.linear_algebra.decompositions": (
        "linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_qr linalg_svd linalg_svdvals"
    ),
    "ops.linear_algebra.matrix_functions": "linalg_lstsq linalg_matrix_exp linalg_pinv",
    "ops.linear_algebra.triangular_factors": (
        "linalg_apply_lu linalg_cholesky linalg_cholesky_inverse linalg_cofactor linalg_det linalg_geqrf linalg_ldl_factor "
        "linalg_ldl_solve linalg_lu_factor linalg_slogdet lu_order"
    ),
    "ops.linear_algebra.triangular_systems": "linalg_inv linalg_regular linalg_solve linalg_solve_triangular",
    "ops.ordering": "argsort median median_index mode_index nanmedian nanmedian_index searchsorted topk_index",
    "ops.placing": "index_copy",
    "ops.pooling": "avg_pool2d avg_pool2d_put max_pool2d max_pool2d_put max_pool2d_take",
    "ops.scatter_reductions": "recurrence_at scatter_reduce",
    "ops.selection": "clip where",
    "ops.sized": "counted lexicographic nonzero positions repeated sliced",
    "ops.special_functions": (
        "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
        "chebyshev_polynomial_w entr hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
        "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
        "scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
        "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 xlog1py"
    ),
    "ops.strided_views": "diagonal unfold",
}
FUNCTIONS = {
    "eager.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "ops.complex_numbers": (
        "angle complex conj conj_physical imag isreal polar real resolve_conj resolve_neg sgn view_as_complex "
        "view_as_complex_copy view_as_real view_as_real_copy"
    ),
    "ops.control.scan": "scan",
    "ops.control.while_loop": "cond while_loop",
    "ops.cumulative": "cummax cummin cumprod cumsum logcumsumexp prod",
    "ops.data_dependent": (
        "argwhere bincount histc histogram histogramdd masked_select nonzero nonzero_static unique unique_consecutive"
    ),
    "ops.fourier": "istft stft",
    "ops.joining": (
        "atleast_1d atleast_2d atleast_3d block_diag cat chunk column_stack concat concatenate dsplit dstack hsplit hstack "
        "narrow row_stack select split split_with_sizes stack tensor_split unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit vstack"
    ),
    "ops.linear_algebra.decompositions": "qr svd",
    "ops.linear_algebra.matrix_functions": "matrix_exp pinverse",
    "ops.linear_algebra.products": (
        "addbmm addmm addmv addr baddbmm bmm cdist chain_matmul cross dist einsum ger inner lobpcg matrix_power mm mv norm "
        "pca_lowrank renorm spmm svd_lowrank tensordot trace vdot"
    ),
    "ops.linear_algebra.triangular_factors": (
        "cholesky cholesky_inverse cholesky_solve det geqrf logdet lu lu_solve lu_unpack orgqr ormqr slogdet"
    ),
    "ops.linear_algebra.triangular_systems": "inverse triangular_solve",
    "ops.ordering": (
        "aminmax argsort bucketize isin kthvalue max median min mode msort nanmedian nanquantile quantile searchsorted sort "
        "topk"
    ),
    "ops.placing": (
        "as_strided_scatter diagonal_scatter fill gather index_copy index_fill index_put index_reduce index_select "
        "masked_scatter put scatter scatter_add scatter_reduce select_scatter slice_scatter take_along_dim"
    ),
    "ops.rearranging": (
        "adjoint broadcast_shapes broadcast_tensors cartesian_prod combinations expand_as fliplr flipud meshgrid moveaxis "
        "movedim ravel repeat repeat_interleave reshape_as roll rot90 sum_to_size t tile unflatten unravel_index view_as"
    ),
    "ops.selection": "clamp clip masked_fill where",
    "ops.sparse": "sparse_coo_tensor",
    "ops.statistics": "corrcoef count_nonzero cov nanmean nansum std std_mean var var_mean",
    "ops.strided_views": (
        "alias_copy as_strided as_strided_copy cumulative_trapezoid detach_copy diag diag_embed diagflat diagonal "
        "diagonal_copy diff expand_copy gradient kron narrow_copy permute_copy select_copy slice_copy split_copy "
        "split_with_sizes_copy squeeze_copy t_copy transpose_copy trapezoid trapz tril tril_indices triu triu_indices "
        "unbind_copy unfold unfold_copy unsqueeze_copy vander view_copy"
    ),
}
METHODS = {
    "ops.complex_numbers": "angle conj conj_physical isreal resolve_conj resolve_neg sgn",
    "ops.cumulative": "cummax cummin cumprod cumsum logcumsumexp prod",
    "ops.data_dependent": "argwhere bincount histc histogram masked_select nonzero nonzero_static unique unique_consecutive",
    "ops.fourier": "istft stft",
    "ops.joining": (
        "chunk dsplit hsplit narrow select split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit"
    ),
    "ops.linear_algebra.decompositions": "qr svd",
    "ops.linear_algebra.matrix_functions": "matrix_exp pinverse",
    "ops.linear_algebra.products": (
        "addbmm addmm addmv addr baddbmm bmm cross dist ger inner matrix_power mm mv norm renorm spmm trace vdot"
    ),
    "ops.linear_algebra.triangular_factors": (
        "cholesky cholesky_inverse cholesky_solve det geqrf logdet lu lu_solve orgqr ormqr slogdet"
    ),
    "ops.linear_algebra.triangular_systems": "inverse triangular_solve",
    "ops.ordering": "aminmax argsort kthvalue max median min mode msort nanmedian nanquantile quantile sort topk",
    "ops.placing": (
        "as_strided_scatter diagonal_scatter fill gather index_copy index_fill index_put index_reduce index_select "
        "masked_scatter put scatter scatter_add scatter_reduce select_scatter slice_scatter take_along_dim"
    ),
    "ops.rearranging": (
        "adjoint expand_as fliplr flipud moveaxis movedim ravel repeat repeat_interleave reshape_as roll rot90 sum_to_size t "
        "tile unflatten view_as"
    ),
    "ops.selection": "clamp clip masked_fill",
    "ops.sparse": "sparse_mask to_sparse to_sparse_coo",
    "ops.statistics": "corrcoef count_nonzero cov nanmean nansum std var",
    "ops.strided_views": "as_strided diag diag_embed diagflat diagonal diff kron narrow_copy tril triu unfold",
}
INPLACE = {
    "ops.complex_numbers": "conj_physical sgn",
    "ops.cumulative": "cumprod cumsum",
    "ops.linear_algebra.products": "addbmm addmm addmv addr baddbmm renorm",
    "ops.placing": "index_copy index_fill index_put index_reduce masked_scatter put scatter scatter_add scatter_reduce",
    "ops.selection": "clamp clip masked_fill",
    "ops.strided_views": "tril triu",
}
SPECIAL = {
    "ops.special_functions": (
        "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
        "chebyshev_polynomial_w entr hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
        "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
        "scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
        "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 xlog1py"
    ),
}
