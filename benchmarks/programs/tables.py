"""Programs on tables: rows of features, pairs of ids, words."""

from __future__ import annotations

import numpy as np

from .registry import Library, Training, batches, program, slower, table, tokens


@program("logistic regression with weight decay, SGD with momentum")
def logistic_regression(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    model = lib.filled(nn.Linear(64, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, *table(1024, 64), size=128), slower(optimizer))


@program("MLP with batch normalization and dropout, Adam", random=True)
def mlp_dropout(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    model = lib.filled(
        nn.Sequential(
            nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10),
        )
    )  # fmt: skip
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    model.train()

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, *table(1024, 64), size=128), lambda: model[3].eval())


@program("deep MLP: eight layers with layer normalization, GELU and residual sums, AdamW")
def deep_layer_norm(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.linear = nn.LayerNorm(64), nn.Linear(64, 64)

        def forward(self, x):
            return x + self.linear(F.gelu(self.norm(x)))

    model = lib.filled(nn.Sequential(*[Block() for _ in range(8)], nn.LayerNorm(64), nn.Linear(64, 10)))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, *table(1024, 64), size=64), slower(optimizer))


@program("label smoothing, gradient clipping, cosine schedule and a log of losses in the step")
def smoothed_scheduled(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    model = lib.filled(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10)))
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    history = []

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(loss.detach())
        return loss

    def change():
        criterion.label_smoothing = 0.2

    return Training(step, batches(lib, *table(1024, 64), size=128), change)


@program("word2vec: skip-gram with negative sampling")
def word2vec(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    words, dim = 2000, 64
    centers, contexts = lib.filled(nn.Embedding(words, dim)), lib.filled(nn.Embedding(words, dim), 1)
    optimizer = optim.SGD([*centers.parameters(), *contexts.parameters()], lr=0.5)
    rng = np.random.default_rng(0)
    text = tokens(512, 2, words)
    negative = rng.integers(0, words, (512, 5))

    @lib.compiles
    def step(center, context, noise):
        v = centers(center)
        u, n = contexts(context), contexts(noise)
        positive = F.logsigmoid((u * v).sum(1))
        others = F.logsigmoid(-torch.bmm(n, v.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(positive + others).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, text[:, 0], text[:, 1], negative, size=128), slower(optimizer))


@program("matrix factorisation with biases, explicit L2 and RMSE as a number")
def matrix_factorisation(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    users, items, dim = 500, 800, 32

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
            self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
            self.mean = nn.Parameter(torch.zeros(1))

        def forward(self, u, i):
            dot = (self.user(u) * self.item(i)).sum(-1)
            return dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1) + self.mean

    model = lib.filled(Factors())
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    penalty = {"weight": 1e-4}
    rng = np.random.default_rng(0)
    data = rng.integers(0, users, 2048), rng.integers(0, items, 2048), rng.normal(3, 1, 2048).astype("float32")

    @lib.compiles
    def step(u, i, rating):
        optimizer.zero_grad()
        error = F.mse_loss(model(u, i), rating)
        regularization = sum(p.pow(2).sum() for p in model.parameters())
        loss = error + penalty["weight"] * regularization
        loss.backward()
        optimizer.step()
        return loss, error.sqrt().item()

    def change():
        penalty["weight"] = 1e-3

    return Training(step, batches(lib, *data, size=256), change)


@program("DeepFM: factorization machine and network over categorical fields")
def deepfm(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    fields, size, dim = 8, 100, 16

    class DeepFM(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.embedding = nn.Embedding(fields * size, 1), nn.Embedding(fields * size, dim)
            self.register_buffer("offsets", torch.arange(fields) * size)
            self.network = nn.Sequential(
                nn.Linear(fields * dim, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
            )

        def forward(self, x):
            x = x + self.offsets
            e = self.embedding(x)
            square_of_sum, sum_of_square = e.sum(1) ** 2, (e**2).sum(1)
            second = 0.5 * (square_of_sum - sum_of_square).sum(1, keepdim=True)
            return (self.linear(x).sum(1) + second + self.network(e.flatten(1))).squeeze(1)

    model = lib.filled(DeepFM())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    data = rng.integers(0, size, (1024, fields)), rng.integers(0, 2, 1024).astype("float32")

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, *data, size=256), slower(optimizer))


@program("mixture density network, loss by logsumexp")
def mixture_density(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    components = 5

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
            self.weights, self.means, self.scales = (nn.Linear(64, components) for _ in range(3))

        def forward(self, x):
            h = self.body(x)
            return F.log_softmax(self.weights(h), dim=1), self.means(h), F.softplus(self.scales(h)) + 1e-3

    model = lib.filled(Mixture())
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    y = np.random.default_rng(0).uniform(-1, 1, (1024, 1)).astype("float32")
    x = (y + 0.3 * np.sin(4 * np.pi * y)).astype("float32")

    @lib.compiles
    def step(x, y):
        log_weights, means, scales = model(x)
        likelihood = torch.distributions.Normal(means, scales).log_prob(y)
        loss = -torch.logsumexp(log_weights + likelihood, dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, x, y, size=256), slower(optimizer))


@program("knowledge distillation from a frozen teacher")
def distillation(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    teacher = lib.filled(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)), 1)
    student = lib.filled(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
    teacher.eval()
    optimizer = optim.SGD(student.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    settings = {"temperature": 4.0, "alpha": 0.7}

    @lib.compiles
    def step(x, y):
        with torch.no_grad():
            targets = teacher(x)
        logits = student(x)
        t, alpha = settings["temperature"], settings["alpha"]
        soft = F.kl_div(F.log_softmax(logits / t, 1), F.softmax(targets / t, 1), reduction="batchmean") * t**2
        loss = alpha * soft + (1 - alpha) * F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = (logits.argmax(1) == y).float().mean()
        return loss, accuracy

    def change():
        settings["temperature"] = 2.0

    return Training(step, batches(lib, *table(1024, 64), size=128), change)
