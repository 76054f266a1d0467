"""Programs on images: classification, segmentation."""

from __future__ import annotations

from .registry import Library, Training, batches, images, program, slower


def _classifier(lib, model, data, size, lr=0.05, momentum=0.9):
    """A step of an image classifier, and its data."""
    torch, nn, F, optim, _ = lib
    optimizer = optim.SGD(model.parameters(), lr=lr, momentum=momentum, weight_decay=5e-4)
    model.train()

    @lib.compiles
    def step(x, y):
        optimizer.zero_grad()
        output = model(x)
        loss = F.cross_entropy(output, y)
        loss.backward()
        optimizer.step()
        correct = output.argmax(dim=1).eq(y).sum()
        return loss, correct

    return Training(step, batches(lib, *data, size=size), slower(optimizer))


@program("residual network of basic blocks with batch normalization")
def resnet(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Block(nn.Module):
        def __init__(self, c_in, c_out, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(c_out)
            self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(c_out)
            self.shortcut = nn.Sequential()
            if stride != 1 or c_in != c_out:
                self.shortcut = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride=stride, bias=False), nn.BatchNorm2d(c_out))

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)), inplace=True)
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return F.relu(out, inplace=True)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
            self.layers = nn.Sequential(Block(16, 16), Block(16, 32, 2), Block(32, 64, 2))
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(64, 10)

        def forward(self, x):
            return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))

    return _classifier(lib, lib.filled(ResNet()), images(64, 3, 16), 16)


@program("DenseNet: concatenated features, transitions by average pooling")
def densenet(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Layer(nn.Module):
        def __init__(self, channels, growth):
            super().__init__()
            self.norm, self.conv = nn.BatchNorm2d(channels), nn.Conv2d(channels, growth, 3, padding=1, bias=False)

        def forward(self, x):
            return torch.cat([x, self.conv(F.relu(self.norm(x)))], 1)

    growth, layers, channels = 8, [nn.Conv2d(3, 16, 3, padding=1)], 16
    for block in range(2):
        for _ in range(3):
            layers.append(Layer(channels, growth))
            channels += growth
        if block == 0:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    layers += [nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(channels, 10)]
    return _classifier(lib, lib.filled(nn.Sequential(*layers)), images(64, 3, 16), 16)


@program("U-Net with skip connections, dice and cross-entropy loss")
def unet(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    def double(c_in, c_out):
        return nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
            nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([double(1, 8), double(8, 16), double(16, 32)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)])
            self.join = nn.ModuleList([double(32, 16), double(16, 8)])
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            kept = []
            for i, down in enumerate(self.down):
                x = down(x)
                if i < 2:
                    kept.append(x)
                    x = F.max_pool2d(x, 2)
            for up, join in zip(self.up, self.join):
                x = join(torch.cat((kept.pop(), up(x)), dim=1))
            return self.out(x)

    model = lib.filled(UNet())
    optimizer = optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9)
    x = images(32, 1, 32)[0]

    @lib.compiles
    def step(x, mask):
        logits = model(x)
        probabilities = torch.sigmoid(logits)
        intersection = (probabilities * mask).sum(dim=(1, 2, 3))
        total = probabilities.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
        dice = 1 - (2 * intersection + 1) / (total + 1)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batches(lib, x, (x > 0).astype("float32"), size=8), slower(optimizer))


@program("vision transformer with a class token")
def vit(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Block(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

        def forward(self, x):
            h = self.norm1(x)
            x = x + self.attention(h, h, h, need_weights=False)[0]
            return x + self.mlp(self.norm2(x))

    class ViT(nn.Module):
        def __init__(self, dim=64, patch=4, extent=16):
            super().__init__()
            self.patches = nn.Conv2d(3, dim, patch, stride=patch)
            self.token = nn.Parameter(torch.zeros(1, 1, dim))
            self.position = nn.Parameter(torch.zeros(1, (extent // patch) ** 2 + 1, dim))
            self.blocks = nn.Sequential(*[Block(dim, 4) for _ in range(3)])
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
            return self.head(self.norm(self.blocks(x))[:, 0])

    return _classifier(lib, lib.filled(ViT()), images(64, 3, 16), 16)


@program("MobileNet blocks: depthwise and pointwise convolutions, squeeze and excitation")
def mobilenet(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class Block(nn.Module):
        def __init__(self, c_in, c_out, stride):
            super().__init__()
            hidden = 4 * c_in
            self.expand = nn.Sequential(nn.Conv2d(c_in, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish())
            self.depthwise = nn.Sequential(
                nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish()
            )
            self.squeeze, self.excite = nn.Conv2d(hidden, hidden // 4, 1), nn.Conv2d(hidden // 4, hidden, 1)
            self.project = nn.Sequential(nn.Conv2d(hidden, c_out, 1, bias=False), nn.BatchNorm2d(c_out))
            self.same = stride == 1 and c_in == c_out

        def forward(self, x):
            h = self.depthwise(self.expand(x))
            scale = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(h, 1)))))
            h = self.project(h * scale)
            return x + h if self.same else h

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1), Block(8, 8, 1), Block(8, 16, 2), Block(16, 16, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    return _classifier(lib, lib.filled(model), images(64, 3, 16), 16)


@program("FGSM adversarial training: gradients of the input, then of the parameters")
def adversarial(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    model = lib.filled(
        nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10),
        )
    )  # fmt: skip
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    epsilon = [0.1]

    @lib.compiles
    def step(x, y):
        x = x.clone().detach().requires_grad_(True)
        F.cross_entropy(model(x), y).backward()
        attacked = torch.clamp(x + epsilon[0] * x.grad.sign(), -3, 3).detach()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(attacked), y)
        loss.backward()
        optimizer.step()
        return loss

    def change():
        epsilon[0] = 0.2

    return Training(step, batches(lib, *images(128, 1, 16), size=32), change)


@program("style transfer: Gram matrices, the image is optimized")
def style_transfer(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    features = lib.filled(
        nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
    )
    for p in features.parameters():
        p.requires_grad_(False)

    def gram(x):
        b, c, h, w = x.size()
        f = x.view(b * c, h * w)
        return torch.mm(f, f.t()).div(b * c * h * w)

    content, style = (lib.tensor(images(1, 3, 32, seed=s)[0]) for s in (0, 1))
    target_content, target_style = features(content).detach(), gram(features(style)).detach()
    image = content.clone().requires_grad_(True)
    optimizer = optim.Adam([image], lr=0.02)

    @lib.compiles
    def step(weight):
        with torch.no_grad():
            image.clamp_(-3, 3)
        optimizer.zero_grad()
        found = features(image)
        loss = F.mse_loss(found, target_content) + weight * F.mse_loss(gram(found), target_style)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, lambda i: (1e3 if i < 5 else 1e2,), slower(optimizer))
